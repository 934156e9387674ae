import { LINKS, MODES, STATES } from "../../src/codes.js";
import type { Engine, EngineClass, Host, PageEvent, RoomWord } from "../../src/engine.js";
import type { Link, Mode, State } from "../../src/types.js";

/** What the fake server says of a user. */
export interface Said {
  state: State;
  agoMs?: number;
  note?: string;
}

/** A wasm client played in TypeScript, and the server behind it: tests say what arrives. */
export class FakeEngine implements Engine {
  /** Those made so far, the newest last. */
  static readonly all: FakeEngine[] = [];

  static get last(): FakeEngine {
    const last = FakeEngine.all.at(-1);
    if (last === undefined) throw new Error("no client has been made");
    return last;
  }

  /** The calls of the TypeScript half, in order. */
  readonly calls: string[] = [];
  readonly inputs: number[] = [];
  readonly #said = new Map<string, Said>();
  readonly #rows: (string | undefined)[] = [];
  readonly #parts = new Map<number, Set<number>>();
  readonly #rooms: ({ id: string; members: [string, State][] | undefined; count: number } | undefined)[] = [];
  readonly host: Host;
  readonly session: string;
  readonly nodes: number;
  readonly idleAfterSecs: number;
  /** Rust may tell a part of a known row inside `subscribe`, or after it. */
  tellInside = true;

  constructor(host: Host, session: string, nodes: number, idleAfterSecs: number, seed: number, seed2: number) {
    for (const number of [nodes, idleAfterSecs, seed, seed2]) {
      if (!Number.isInteger(number)) throw new TypeError(`${number} is no integer`);
    }
    this.host = host;
    this.session = session;
    this.nodes = nodes;
    this.idleAfterSecs = idleAfterSecs;
    FakeEngine.all.push(this);
  }

  // What the TypeScript half calls.

  device(name: string): void {
    this.calls.push(`device ${name}`);
  }

  connect(): void {
    this.calls.push("connect");
    this.link("connecting");
  }

  disconnect(): void {
    this.calls.push("disconnect");
    this.link("closed");
  }

  signOut(): void {
    this.calls.push("signOut");
    this.link("closed");
  }

  subscribe(part: number, user: string): number {
    this.calls.push(`subscribe ${part} ${user}`);
    let row = this.#rows.indexOf(user);
    if (row < 0) row = this.#rows.indexOf(undefined);
    if (row < 0) row = this.#rows.length;
    this.#rows[row] = user;
    const rows = this.#parts.get(part) ?? new Set();
    this.#parts.set(part, rows.add(row));
    if (this.tellInside && this.#said.has(user)) this.host.changed(part, row);
    return row;
  }

  unsubscribe(part: number, row: number): void {
    this.calls.push(`unsubscribe ${part} ${this.#rows[row]}`);
    const rows = this.#parts.get(part);
    if (!rows?.delete(row)) throw new Error(`part ${part} has no row ${row}`);
    if (rows.size === 0) this.#parts.delete(part);
    this.#drop(row);
  }

  join(room: string): number {
    this.calls.push(`join ${room}`);
    const free = this.#rooms.indexOf(undefined);
    const number = free < 0 ? this.#rooms.length : free;
    this.#rooms[number] = { id: room, members: undefined, count: -1 };
    return number;
  }

  leave(room: number): void {
    this.calls.push(`leave ${this.#rooms[room]?.id}`);
    this.#rooms[room] = undefined;
  }

  room(number: number): RoomWord | undefined {
    const room = this.#rooms[number];
    if (room?.members === undefined) return undefined;
    return { count: room.count, members: room.members.map(([user, state]) => [user, STATES.indexOf(state)]) };
  }

  setMode(mode: number, revision?: number): void {
    this.calls.push(revision ? `remember ${MODES[mode]} ${revision}` : `setMode ${MODES[mode]}`);
  }

  setNote(note: string): void {
    this.calls.push(`setNote ${note}`);
  }

  page(event: PageEvent): void {
    this.calls.push(`page ${event}`);
  }

  input(elsewhere: boolean): void {
    this.calls.push(elsewhere ? "input elsewhere" : "input");
  }

  token(dial: number, token: string): void {
    this.calls.push(`token ${dial} ${token}`);
  }

  tokenFailed(dial: number, notAllowed: boolean): void {
    this.calls.push(`tokenFailed ${dial} ${notAllowed}`);
  }

  state(row: number): number {
    return STATES.indexOf(this.#of(row).state);
  }

  seenAgoMs(row: number): number {
    return this.#of(row).agoMs ?? -1;
  }

  note(row: number): string | undefined {
    return this.#of(row).note;
  }

  // What the test plays.

  /** A room's roster arrives; `count`: it is a large one, and these are some of so many. */
  gather(id: string, members: Record<string, State>, count = -1): void {
    const number = this.#rooms.findIndex(room => room?.id === id);
    this.#rooms[number] = { id, members: Object.entries(members), count };
    this.host.room(number);
  }

  /** Entries arrive in one frame. */
  arrive(entries: Record<string, State | Said>): void {
    for (const [user, said] of Object.entries(entries)) {
      this.#said.set(user, typeof said === "string" ? { state: said } : said);
      const row = this.#rows.indexOf(user);
      for (const [part, rows] of this.#parts) if (rows.has(row)) this.host.changed(part, row);
    }
  }

  /** Welcome and snapshot are there. */
  live(): void {
    this.link("live");
    this.host.stale(false);
  }

  lose(retryMs = 1_500, why = 0): void {
    this.host.stale(true);
    this.host.link(LINKS.indexOf("waiting"), why, retryMs);
  }

  stop(why: number): void {
    this.host.stale(true);
    this.host.link(LINKS.indexOf("stopped"), why, 0);
  }

  link(state: Link["state"]): void {
    this.host.link(LINKS.indexOf(state), 0, 0);
  }

  mode(mode: Mode, revision = 0): void {
    this.host.mode(MODES.indexOf(mode), revision);
  }

  /** Who is watched on the wire. */
  get watched(): string[] {
    return this.#rows.filter(user => user !== undefined);
  }

  get parts(): number {
    return this.#parts.size;
  }

  #of(row: number): Said {
    const user = this.#rows[row];
    if (user === undefined) throw new Error(`nobody watches row ${row}`);
    return this.#said.get(user) ?? { state: "unknown" };
  }

  #drop(row: number): void {
    for (const rows of this.#parts.values()) if (rows.has(row)) return;
    const user = this.#rows[row];
    this.#rows[row] = undefined;
    if (user !== undefined) this.#said.delete(user);
  }
}

FakeEngine satisfies EngineClass;
