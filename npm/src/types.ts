import type { Why } from "./codes.js";
import type { GreendotError } from "./errors.js";
import type { WasmSource } from "./load.js";

/** How a user looks from here. `unknown`: nobody can say, which is not the same as offline. */
export type State = "online" | "away" | "busy" | "dnd" | "offline" | "unknown";

/** A user's own choice of how to appear. `auto` follows what the person does. */
export type Mode = "auto" | "away" | "busy" | "dnd" | "invisible";

/**
 * What is known of one user; `state` tells which of the three it is. An app with types of its own for its users' ids and
 * their notes names them, here and in `connect`. Frozen, and the very same object for as long as nothing changes: it can be compared by
 * identity and kept.
 */
export type View<User extends string = string, Note extends string = string> =
  | PresentView<User, Note>
  | OfflineView<User>
  | UnknownView<User>;

/** A user who is there. */
export interface PresentView<User extends string = string, Note extends string = string> {
  readonly user: User;
  readonly state: "online" | "away" | "busy" | "dnd";
  /** Whether this may be old, because the link is not known to be good. */
  readonly stale: boolean;
  /** The user's own words, if there are any. */
  readonly note?: Note;
  readonly lastSeen?: undefined;
}

/** A user who is not there, or does not wish to be seen. */
export interface OfflineView<User extends string = string> {
  readonly user: User;
  readonly state: "offline";
  readonly stale: boolean;
  /** Missing if the user was never seen, or not by those who may know. */
  readonly lastSeen?: LastSeen;
  readonly note?: undefined;
}

/**
 * A user of whom nothing can be said: not asked for yet, not answered yet, out of reach for too long, or not yet heard of by
 * a server that has just started.
 */
export interface UnknownView<User extends string = string> {
  readonly user: User;
  readonly state: "unknown";
  readonly stale: boolean;
  readonly note?: undefined;
  readonly lastSeen?: undefined;
}

/** When an offline user was last heard from. */
export interface LastSeen {
  /**
   * By this device's clock, so that it can be shown beside its other times. It came as an age: neither the server's
   * clock nor a wrong clock here makes the age wrong. A fresh `Date` at each read.
   */
  readonly at: Date;
  /** How long ago, in milliseconds, at the moment this object was made. */
  readonly agoMs: number;
  /**
   * The user tells it only so: then `at` and `agoMs` are no more than a bound, and the user was seen since. `recently`: within
   * three days.
   */
  readonly coarse?: "recently" | "this week";
}

/** One device or tab of the own user. Frozen. */
export interface OwnSession {
  readonly id: string;
  /** What its page called the device (the option `device`). */
  readonly device?: string;
  /** Whether nobody has touched it for a while. */
  readonly idle: boolean;
  /** Whether its connection is gone, and it may still come back. */
  readonly lingering: boolean;
  /** Whether it counts for nothing, as a bot does. */
  readonly passive: boolean;
  /** Whether it is this page. */
  readonly here: boolean;
  /** Since when, by this device's clock. A fresh `Date` at each read. */
  readonly since: Date;
}

/**
 * The link to the server. `connecting` and `live` speak for themselves; `waiting`: lost, and the next dial comes by
 * itself; `stopped`: it will not come back by itself, `why` says for what reason; `closed`: the app closed it (or this
 * is a server, where it never opens).
 */
export interface Link {
  readonly state: "connecting" | "live" | "waiting" | "stopped" | "closed";
  /** True from the moment the link is not known to be good: what is shown may be old. */
  readonly stale: boolean;
  readonly why?: Why;
  /** While waiting: in how many milliseconds the next dial comes, seen from the moment of this object. */
  readonly retryMs?: number;
}

/** A user in a room. */
export interface RoomMember<User extends string = string> {
  readonly user: User;
  readonly state: State;
}

/** Who is in a room, as far as this user may see. Frozen, and the same object for as long as nothing changes. */
export interface RoomView<User extends string = string> {
  readonly room: string;
  /** Each user once, in the order in which they came; of a large room some of them. */
  readonly members: readonly RoomMember<User>[];
  /** How many there are; in a large room about so many. */
  readonly count: number;
  /** Whether `members` is everybody. */
  readonly whole: boolean;
  /** Whether anything is known of the room yet. */
  readonly known: boolean;
  readonly stale: boolean;
}

/** A room that this page can be in: while anybody listens, this user is there, and sees who else is. */
export interface Room<User extends string = string> {
  readonly id: string;
  readonly view: RoomView<User>;
  readonly members: readonly RoomMember<User>[];
  readonly count: number;
  /** Joins with the first listener, leaves with the last. */
  subscribe(listener: (view: RoomView<User>) => void): Stop;
}

/** Ends what it was returned for. Calling it again does nothing. */
export type Stop = () => void;

/** What `connect` takes. */
export interface Options {
  /**
   * Where the server's presence socket is. Relative addresses and `http(s)` work too: `"/presence"` is that path on the
   * page's own origin.
   */
  readonly url?: string | URL;
  /** In place of `url`: several nodes, tried in turn when one fails. */
  readonly urls?: readonly (string | URL)[];
  /**
   * Who this user is, as your backend can check it. Asked anew for every dial, and before the token of an open
   * connection ends, so it may expire. If it throws, that is retried like any failure; throw `NotAllowed` to stop for good.
   */
  readonly token: () => string | Promise<string>;
  /**
   * This tab's id. By default a random one, kept in `sessionStorage`, so that a reload is the same session to everybody
   * else.
   */
  readonly session?: string;
  /** What the person may call this device, for the list of the own sessions; at most 64 bytes. */
  readonly device?: string;
  /** After how many seconds without input the user counts as away; 0: never. By default what the server says. */
  readonly idleAfter?: number;
  /** Where the wasm file comes from, if not from beside this package's own code (own CDN, a bundler that needs help). */
  readonly wasm?: WasmSource;
  /**
   * Connect outside a page or worker too: a bot in Node, say. Without it, `connect` on a server returns a client that
   * stays closed, so that code shared with the server is harmless.
   */
  readonly headless?: boolean;
  /** Print every frame to the console, in words (as `console.debug`; browsers call that level "verbose"). */
  readonly debug?: boolean;
}

/** A presence client, as `connect` returns it. */
export interface Presence<User extends string = string, Note extends string = string> {
  /**
   * Watches users until the returned function is called. The listener is told what is known soon after, and then each
   * change of a state or note, those that came together in one call. Never called before `watch` has returned.
   */
  watch(users: User | readonly User[], listener: (changes: readonly View<User, Note>[]) => void): Stop;
  /** What is known of a user, now. Those nobody watches are `unknown`. */
  get(user: User): View<User, Note>;
  /** For bindings: watches users; the listener is called whenever `get` may return something new for one of them. */
  subscribe(users: User | readonly User[], listener: () => void): Stop;

  /** A room by its id, the same object each time. Asking for it does not join it yet. */
  room(id: string): Room<User>;

  /** The own user's mode, as now known: chosen here, or on another device. */
  readonly mode: Mode;
  /** Chooses how to appear, on all of the user's devices. */
  setMode(mode: Mode): void;
  /** Called whenever `mode` has changed. */
  onMode(listener: (mode: Mode) => void): Stop;
  /** Words beside the own dot, at most 256 bytes; empty takes them away. */
  setNote(note: Note | ""): void;

  /** The own user's sessions, as told last; empty while nobody listens. */
  readonly sessions: readonly OwnSession[];
  /** Called whenever `sessions` has changed. What it needs is loaded with the first call. */
  onSessions(listener: (sessions: readonly OwnSession[]) => void): Stop;
  /** Ends another of the own sessions: its page stops, with `signed_out`. Said as soon as there is a connection. */
  endSession(id: string): void;

  /** The link to the server. */
  readonly link: Link;
  /** Called with each step that the link takes. */
  onLink(listener: (link: Link) => void): Stop;
  /** What went wrong and did no more harm than that. Without a listener it goes to the console. */
  onError(listener: (error: GreendotError) => void): Stop;

  /** Connects after `close` or `signOut`, or after the link stopped; cuts a wait short. Done by `connect()` itself. */
  connect(): void;
  /** Closes the connection. Others see it when the server's grace is over. What is watched is kept. */
  close(): void;
  /** Closes with a goodbye: others see it at once, unless another tab or device is still there. */
  signOut(): void;
}
