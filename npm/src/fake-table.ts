import { STATES } from "./codes.js";
import type { Host, RoomWord, Table } from "./engine.js";
import type { State } from "./types.js";

/** What a test says of a user. */
export interface Said<Note extends string = string> {
  readonly state: State;
  readonly note?: Note;
  /** How long ago an offline user was last seen, in ms; missing: never. */
  readonly agoMs?: number;
}

/** What rows and rooms need of the wasm client, as a table that a test writes. */
export class FakeTable implements Table {
  readonly #host: Pick<Host, "changed" | "room">;
  readonly #said = new Map<string, Said>();
  readonly #users: string[] = [];
  readonly #parts = new Map<number, Set<number>>();
  readonly #rooms: string[] = [];
  readonly #joined = new Set<number>();
  readonly #rosters = new Map<string, RoomWord>();

  constructor(host: Pick<Host, "changed" | "room">) {
    this.#host = host;
  }

  say(user: string, said: Said): void {
    if (!STATES.includes(said.state)) {
      throw new TypeError(`greendot: "${said.state}" is no state. Give one of ${STATES.join(", ")}.`);
    }
    this.#said.set(user, said);
    const row = this.#users.indexOf(user);
    for (const [part, rows] of this.#parts) if (rows.has(row)) this.#host.changed(part, row);
  }

  gather(id: string, members: Partial<Record<string, State>>, count = -1): void {
    const roster = Object.entries(members).map(([user, state = "unknown"]) => [user, STATES.indexOf(state)] as const);
    this.#rosters.set(id, { count, members: roster });
    this.#host.room(this.#roomNumber(id));
  }

  get joined(): string[] {
    return Array.from(this.#joined, number => this.#rooms[number] ?? "");
  }

  /** Numbers are never used for another user: a test is over soon. */
  subscribe(part: number, user: string): number {
    let row = this.#users.indexOf(user);
    if (row < 0) row = this.#users.push(user) - 1;
    const rows = this.#parts.get(part) ?? new Set();
    this.#parts.set(part, rows.add(row));
    if (this.#said.has(user)) this.#host.changed(part, row);
    return row;
  }

  unsubscribe(part: number, row: number): void {
    const rows = this.#parts.get(part);
    rows?.delete(row);
    if (rows?.size === 0) this.#parts.delete(part);
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

  join(id: string): number {
    const number = this.#roomNumber(id);
    this.#joined.add(number);
    return number;
  }

  leave(number: number): void {
    this.#joined.delete(number);
  }

  room(number: number): RoomWord | undefined {
    return this.#rosters.get(this.#rooms[number] ?? "");
  }

  #roomNumber(id: string): number {
    const known = this.#rooms.indexOf(id);
    return known < 0 ? this.#rooms.push(id) - 1 : known;
  }

  #of(row: number): Said {
    return this.#said.get(this.#users[row] ?? "") ?? { state: "unknown" };
  }
}
