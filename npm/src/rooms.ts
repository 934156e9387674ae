import { STATES } from "./codes.js";
import type { Table } from "./engine.js";
import { Listeners } from "./listeners.js";
import type { Rows } from "./rows.js";
import { unknownRoom } from "./sources.js";
import type { Room, RoomMember, RoomView, Stop } from "./types.js";

/** One room. Joined while anybody listens; its view is made when it is asked for. */
class RoomHandle implements Room {
  readonly id: string;
  readonly #rooms: Rooms;
  readonly #listeners = new Listeners<RoomView>();
  /** The wasm client's number for it, while it is joined there. */
  number: number | undefined;
  #view: RoomView;
  /** What the listeners were told last. */
  #shown: RoomView;
  #dirty = false;
  #told = true;

  constructor(rooms: Rooms, id: string, first: RoomView) {
    this.id = id;
    this.#rooms = rooms;
    this.#view = this.#shown = first;
  }

  get view(): RoomView {
    const { engine, stale } = this.#rooms.rows;
    if (this.#dirty || this.#view.stale !== stale) {
      this.#dirty = false;
      this.#view = viewOf(this.id, engine, this.number, stale, this.#view);
    }
    return this.#view;
  }

  get members(): readonly RoomMember[] {
    return this.view.members;
  }

  get count(): number {
    return this.view.count;
  }

  subscribe(listener: (view: RoomView) => void): Stop {
    const first = this.#listeners.empty;
    const stop = this.#listeners.add(listener);
    if (first) this.attach();
    return () => {
      const empty = this.#listeners.empty;
      stop();
      if (!empty && this.#listeners.empty) this.#leave();
    };
  }

  /** Joins, if anybody listens and the wasm client is there. */
  attach(): void {
    const { engine } = this.#rooms.rows;
    if (this.#listeners.empty || engine === undefined || this.number !== undefined) return;
    this.number = engine.join(this.id);
    this.changed();
  }

  detach(): void {
    this.number = undefined;
    this.changed();
  }

  /** Listeners are called in a microtask: never inside a call of the app's own, and once for all that came together. */
  changed(): void {
    this.#dirty = true;
    if (!this.#told) return;
    this.#told = false;
    queueMicrotask(() => {
      this.#told = true;
      const before = this.#shown;
      this.#shown = this.view;
      if (this.#shown !== before) this.#listeners.tell(this.#shown);
    });
  }

  #leave(): void {
    const number = this.number;
    this.number = undefined;
    this.#dirty = true;
    if (number !== undefined) this.#rooms.rows.engine?.leave(number);
  }
}

/** The rooms of a client. */
export class Rooms {
  /** Whose wasm client and age are the rooms', too. */
  readonly rows: Pick<Rows, "engine" | "stale">;
  readonly #byId = new Map<string, RoomHandle>();

  constructor(rows: Rooms["rows"]) {
    this.rows = rows;
  }

  /** The same object each time, so that it can be compared and kept. `first`: the view that was given out so far. */
  get(id: string, first = unknownRoom(id)): Room {
    let room = this.#byId.get(id);
    if (room === undefined) {
      room = new RoomHandle(this, id, first);
      this.#byId.set(id, room);
    }
    return room;
  }

  /** The wasm client is there. */
  attach(): void {
    for (const room of this.#byId.values()) room.attach();
  }

  detach(): void {
    for (const room of this.#byId.values()) room.detach();
  }

  changed(number: number): void {
    for (const room of this.#byId.values()) if (room.number === number) room.changed();
  }

  staleChanged(): void {
    for (const room of this.#byId.values()) if (room.number !== undefined) room.changed();
  }
}

/** Makes the view of a room; the one from before again if nothing in it has changed. */
function viewOf(
  room: string,
  engine: Table | undefined,
  number: number | undefined,
  stale: boolean,
  before?: RoomView,
): RoomView {
  const word = number === undefined ? undefined : engine?.room(number);
  const known = word !== undefined;
  const members = (word?.members ?? []).map(([user, state], at) =>
    memberOf(user, STATES[state] ?? "unknown", before?.members[at]),
  );
  const whole = word?.count === -1;
  const count = word === undefined || whole ? members.length : word.count;
  const sameMembers =
    before !== undefined &&
    before.members.length === members.length &&
    members.every((member, at) => member === before.members[at]);
  if (sameMembers && before.count === count && before.known === known && before.whole === whole && before.stale === stale)
    return before;
  const list = sameMembers ? before.members : Object.freeze(members);
  return Object.freeze({ room, members: list, count, whole, known, stale });
}

function memberOf(user: string, state: RoomMember["state"], before: RoomMember | undefined): RoomMember {
  return before?.user === user && before.state === state ? before : Object.freeze({ user, state });
}
