import type * as PAGE from "./page-events.js";

/** The wasm client, as its Rust side promises it. All calls return at once and none throws in ordinary use. */
export interface Engine {
  /** What the person may call this device, said from the next dial on. */
  device(name: string): void;
  connect(): void;
  disconnect(): void;
  signOut(): void;
  /** Returns the user's row: a small number, the same for as long as anyone watches the user. */
  subscribe(part: number, user: string): number;
  unsubscribe(part: number, row: number): void;
  /** Goes into a room, once more; returns its number, the same for as long as it is joined. */
  join(room: string): number;
  leave(room: number): void;
  /** What is known of a room. */
  room(room: number): RoomWord | undefined;
  /** With the number by which an earlier page was told it, it is remembered, not chosen. */
  setMode(mode: number, revision?: number): void;
  setNote(note: string): void;
  page(event: PageEvent): void;
  /** `elsewhere`: in another page of this browser. */
  input(elsewhere: boolean): void;
  token(dial: number, token: string): void;
  tokenFailed(dial: number, notAllowed: boolean): void;
  state(row: number): number;
  /** How long ago, as of now; -1: not known. Below that it is no more than a bound: -2 less the age. */
  seenAgoMs(row: number): number;
  note(row: number): string | undefined;
}

/** A room: `count` of a large one, of whom only some are named, else -1; the members by name, with the numbers of their states. */
export interface RoomWord {
  readonly count: number;
  readonly members: readonly (readonly [user: string, state: number])[];
}

/** The part of it that is a table of users and rooms. */
export type Table = Pick<
  Engine,
  "subscribe" | "unsubscribe" | "state" | "seenAgoMs" | "note" | "join" | "leave" | "room"
>;

/** What the wasm client calls, always after its own borrows have ended: calls back into it are allowed. */
export interface Host {
  needToken(dial: number): void;
  url(node: number): string;
  /** Opens a WebSocket; may throw as its constructor does. */
  socket(url: string, protocol: string): WebSocket;
  changed(part: number, row: number): void;
  room(room: number): void;
  link(state: number, why: number, retryMs: number): void;
  stale(is: boolean): void;
  /** With its number, for an engine that follows; 0: the server has told none. */
  mode(mode: number, revision: number): void;
  error(code: number, about: number, text: string): void;
  /** Say `closing` to this node by a beacon. */
  beacon(node: number, ticket: string): void;
}

/** The wasm class. `idleAfterSecs`: -1 leaves it to the server, 0 is never. The seeds are random 32-bit numbers. */
export type EngineClass = new (
  host: Host,
  session: string,
  nodes: number,
  idleAfterSecs: number,
  seed: number,
  seed2: number,
) => Engine;

/** What can happen to a page. */
export type PageEvent = (typeof PAGE)[keyof typeof PAGE];
