import { LINKS } from "./codes.js";
import type { GreendotError } from "./errors.js";
import { FakeTable, type Said } from "./fake-table.js";
import { LinkStatus } from "./link.js";
import { Listeners } from "./listeners.js";
import { Parts } from "./parts.js";
import { Rooms } from "./rooms.js";
import { Rows } from "./rows.js";
import { NO_SESSIONS } from "./sources.js";
import type { Link, Mode, OwnSession, Presence, Room, State, Stop, View } from "./types.js";

export type { Said };

/** A client for an app's tests: it connects to nothing, and shows what the test says. */
export interface FakePresence<User extends string = string, Note extends string = string> extends Presence<User, Note> {
  /** How a user looks from now on, watched or not. Listeners are told in a microtask, as ever. */
  set(user: User, said: State | Said<Note>): void;
  /** Several at once: listeners are told once. */
  set(users: Partial<Record<User, State | Said<Note>>>): void;
  /** Who is in a room; `count`: it is a large one, and these are some of so many. */
  setRoom(id: string, members: Partial<Record<User, State>>, count?: number): void;
  /** The own user's devices and tabs, for those who listen. */
  setSessions(sessions: readonly OwnSession[]): void;
  /** How the link is; live, unless it is said otherwise. Only a live one can be fresh. */
  setLink(link: Omit<Link, "stale"> & { readonly stale?: boolean }): void;
  /** Something went wrong, as the app's `onError` hears it. */
  fail(error: GreendotError): void;
  /** Whom the app watches now, each once, in the order of their names. */
  readonly watched: readonly User[];
  /** Which rooms it is in now. */
  readonly joined: readonly string[];
  /** The own note, as the app has set it last. */
  readonly note: string;
  /** Which of the own sessions the app has asked to end. */
  readonly ended: readonly string[];
}

/** Makes one; users that it is not told of are `unknown`. */
export function fakePresence<User extends string = string, Note extends string = string>(
  users: Partial<Record<Given<User>, State | Said<Note>>> = {},
): FakePresence<User, Note> {
  const fake = new Fake();
  fake.set(users as Record<string, State | Said>);
  return fake as unknown as FakePresence<User, Note>;
}

/** The type as it is given or defaults, not one that the compiler makes of the names in the argument. */
type Given<User> = [User][User extends unknown ? 0 : never];

/** The package's own rows, rooms and listeners, over a table that tests write: what is tested is what ships. */
class Fake implements FakePresence {
  readonly #rows = new Rows();
  readonly #parts = new Parts(this.#rows);
  readonly #rooms = new Rooms(this.#rows);
  readonly #link = new LinkStatus();
  readonly #modes = new Listeners<Mode>();
  readonly #own = new Listeners<readonly OwnSession[]>();
  readonly #errors = new Listeners<GreendotError>();
  readonly #table = new FakeTable({
    changed: (part, row) => this.#parts.changed(part, row),
    room: room => this.#rooms.changed(room),
  });
  mode: Mode = "auto";
  note = "";
  sessions = NO_SESSIONS;
  readonly ended: string[] = [];

  constructor() {
    this.#rows.engine = this.#table;
    this.setLink({ state: "live" });
  }

  set(users: string | Partial<Record<string, State | Said>>, said?: State | Said): void {
    const all = typeof users === "string" ? { [users]: said } : users;
    for (const [user, said = "unknown"] of Object.entries(all)) this.#table.say(user, typeof said === "string" ? { state: said } : said);
  }

  setRoom(id: string, members: Partial<Record<string, State>>, count?: number): void {
    this.#table.gather(id, members, count);
  }

  setSessions(sessions: readonly OwnSession[]): void {
    this.sessions = sessions;
    queueMicrotask(() => this.#own.tell(this.sessions));
  }

  setLink({ stale, ...link }: Omit<Link, "stale"> & { readonly stale?: boolean }): void {
    if (!LINKS.includes(link.state)) throw new TypeError(`greendot: "${link.state}" is no state of a link. Give one of ${LINKS.join(", ")}.`);
    this.#link.set(link);
    this.#link.setStale(stale ?? false);
    if (!this.#rows.setStale(this.#link.now.stale)) return;
    this.#parts.staleChanged();
    this.#rooms.staleChanged();
  }

  fail(error: GreendotError): void {
    queueMicrotask(() => this.#errors.tell(error));
  }

  get watched(): readonly string[] {
    return Array.from(this.#rows.all(), row => row.user).sort();
  }

  get joined(): readonly string[] {
    return this.#table.joined;
  }

  watch(users: string | readonly string[], listener: (changes: readonly View[]) => void): Stop {
    return this.#parts.add(typeof users === "string" ? [users] : users, listener, false);
  }

  subscribe(users: string | readonly string[], listener: () => void): Stop {
    return this.#parts.add(typeof users === "string" ? [users] : users, () => listener(), true);
  }

  get(user: string): View {
    return this.#rows.get(user);
  }

  room(id: string): Room {
    return this.#rooms.get(id);
  }

  setMode(mode: Mode): void {
    if (mode === this.mode) return;
    this.mode = mode;
    queueMicrotask(() => this.#modes.tell(mode));
  }

  onMode(listener: (mode: Mode) => void): Stop {
    return this.#modes.add(listener);
  }

  setNote(note: string): void {
    this.note = note;
  }

  onSessions(listener: (sessions: readonly OwnSession[]) => void): Stop {
    return this.#own.add(listener);
  }

  endSession(id: string): void {
    this.ended.push(id);
  }

  get link(): Link {
    return this.#link.now;
  }

  onLink(listener: (link: Link) => void): Stop {
    return this.#link.onChange(listener);
  }

  onError(listener: (error: GreendotError) => void): Stop {
    return this.#errors.add(listener);
  }

  connect(): void {
    this.setLink({ state: "live" });
  }

  close(): void {
    this.setLink({ state: "closed" });
  }

  signOut(): void {
    this.setLink({ state: "closed" });
  }
}
