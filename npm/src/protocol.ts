// Made from the Rust crate `greendot-protocol`; do not edit. After a change there:
//     GREENDOT_BLESS=1 cargo test -p greendot-protocol --all-features --test typescript

/** How a user looks, in the order of the numbers on the wire. */
export const STATES = ["offline", "online", "away", "busy", "dnd", "unknown"] as const;
/** One of {@link STATES}. */
export type State = (typeof STATES)[number];

/** A user's own choice of how to appear, in the order of the numbers on the wire. */
export const MODES = ["auto", "away", "busy", "dnd", "invisible"] as const;
/** One of {@link MODES}. */
export type Mode = (typeof MODES)[number];

/** Why a connection was closed. From 4400 to 4499 a client stops; after every other it comes back. */
export const CLOSE_CODES = {
  4000: "ended",
  4001: "drain",
  4002: "full",
  4003: "token_expired",
  4004: "check_failed",
  4005: "hello_timeout",
  4006: "too_fast",
  4007: "abandoned",
  4400: "bad_frame",
  4401: "bad_token",
  4403: "not_allowed",
  4404: "bad_session",
  4409: "replaced",
  4410: "revoked",
  4411: "signed_out",
  4413: "too_large",
  4426: "wrong_version",
} as const;
/** A name in {@link CLOSE_CODES}. */
export type CloseName = (typeof CLOSE_CODES)[keyof typeof CLOSE_CODES];

/** What a server may say of a request that it did not carry out. */
export const ERROR_CODES = {
  1: "bad_user",
  2: "too_many_watches",
  3: "note_too_long",
  4: "bad_request",
  5: "bad_room",
  6: "too_many_rooms",
  7: "not_allowed",
  8: "token_refused",
  255: "other",
} as const;
/** A name in {@link ERROR_CODES}. */
export type ErrorName = (typeof ERROR_CODES)[keyof typeof ERROR_CODES];

/** What a client says. */
export type ClientFrame =
  | { type: "hello" } & Hello
  | { type: "beat" } & Beat
  | { type: "watch" } & Watch
  | { type: "unwatch" } & Unwatch
  | { type: "mode" } & ModeWish
  | { type: "note" } & Note
  | { type: "idle" }
  | { type: "active" }
  | { type: "closing" }
  | { type: "bye" }
  | { type: "token" } & FreshToken
  | { type: "join" } & Join
  | { type: "leave" } & Leave
  | { type: "own" } & Own
  | { type: "end" } & End;

/** The first frame of a connection: who I am. */
export type Hello = {
  /** The session's id, a claim inside the user's own names: 1 to 64 bytes. */
  session: string;
  /** What the application checks; says who the user is. */
  token: string;
  /** A passive session does not count for the user's state. */
  passive?: boolean;
  /** Idle or active, if the client wants to say; else what was known of the session goes on. */
  idle?: boolean;
  /** Age of the last input. */
  input_age_ms?: number;
  /** After how long without input this device counts as idle; 0: never. Absent: the server's own setting. */
  idle_after_ms?: number;
  /** The user's mode as this client knows it, or as it was chosen while the link was down. */
  mode?: ModeChoice;
  /** What the person may call this device, for a list of the user's own sessions. */
  device?: string;
};

/** A user's mode, with what is needed to weigh it against another. */
export type ModeChoice = {
  /** The mode. */
  mode: Mode;
  /** The number of the choice, as the server told it last. */
  revision?: number;
  /** Whether this is a new choice, not yet told, or a repetition of one that the server may have lost. */
  fresh?: boolean;
};

/** A heartbeat. */
export type Beat = {
  /** 0 to 255; comes back in the answer. */
  number: number;
  /** Age of the last input. */
  input_age_ms?: number;
};

/** Show me these users, each under a number of my choice. Answered by one snapshot. */
export type Watch = {
  /** 1 or more; comes back in the snapshot. */
  request: number;
  /** The users. A number in use already moves to the new user. */
  users: Array<WatchItem>;
};

/** One user to watch. */
export type WatchItem = {
  /** The number that will stand for the user on this connection. */
  number: number;
  /** The user's name. */
  user: string;
};

/** These numbers are no longer of interest. */
export type Unwatch = {
  /** Numbers from earlier watches. */
  numbers: Array<number>;
};

/** My user's own choice of how to appear. */
export type ModeWish = {
  /** The mode. */
  mode: Mode;
};

/** My user's note. */
export type Note = {
  /** Empty takes it away. */
  note: string;
};

/** A fresh token, before the one that the connection rests on ends. */
export type FreshToken = {
  /** What the application checks; of the same user. */
  token: string;
};

/** My session goes into a room, and I want to be told who is there. */
export type Join = {
  /** The number that will stand for the room on this connection. */
  number: number;
  /** The room's id. */
  room: string;
};

/** My session leaves a room. */
export type Leave = {
  /** The room's number. */
  number: number;
};

/** Tell me my user's own sessions. */
export type Own = {
  /** From now on, or no more. */
  on: boolean;
};

/** Another session of my user is to end. */
export type End = {
  /** The session's id. */
  session: string;
};

/** What a server says. */
export type ServerFrame =
  | { type: "welcome" } & Welcome
  | { type: "beat_answer" } & BeatAnswer
  | { type: "snapshot" } & Snapshot
  | { type: "events" } & Events
  | { type: "mode" } & OwnMode
  | { type: "error" } & Failure
  | { type: "stale" } & Stale
  | { type: "close" } & Close
  | { type: "token" } & TokenLife
  | { type: "room" } & Room
  | { type: "room_events" } & RoomEvents
  | { type: "crowd" } & Crowd
  | { type: "sessions" } & Sessions;

/** The answer to a hello. */
export type Welcome = {
  /** How often the client shows a sign of life. */
  beat_ms: number;
  /** How long a lease lasts after the last sign of life. */
  ttl_ms: number;
  /** How long a session lingers after its connection ended. */
  grace_ms: number;
  /** After how long without input a device counts as idle; 0: never. */
  idle_after_ms: number;
  /** The session's id, as taken. */
  session: string;
  /** The epoch that the node is in. */
  epoch: number;
  /** The user's mode. */
  mode: Mode;
  /** The number of the choice of mode. */
  revision: number;
  /** The right to say `closing` for this session by a beacon; absent if there is none. */
  ticket?: string;
  /** Whether the node's word may be old; absent if not. */
  stale?: boolean;
  /** How long the token lasts from now on; absent if it does not end. */
  token_ms?: number;
};

/** The answer to a beat. */
export type BeatAnswer = {
  /** The beat's. */
  number: number;
};

/** The state of watched users, whole. Those of the answered watch that are not listed are offline and were never seen. */
export type Snapshot = {
  /** The watch it answers; 0: it answers none and speaks of every user watched on this connection. */
  request: number;
  /** The epoch of its versions. */
  epoch: number;
  /** The users. */
  entries: Array<Entry>;
};

/** Changes of watched users. */
export type Events = {
  /** The epoch of its versions. */
  epoch: number;
  /** The users, each at most once. */
  entries: Array<Entry>;
};

/** One user in a snapshot or in events. */
export type Entry = {
  /** The client's number for the user. */
  number: number;
  /** What this watcher may see. */
  state: State;
  /** The number of the change, as this watcher was shown them. */
  version: number;
  /** How long ago the user was last seen; only while offline, absent if never. */
  seen_ago_ms?: number;
  /** Whether that is no more than a bound: the user was seen since, and more is not to be told; absent if not. */
  coarse?: boolean;
  /** The user's note; absent if there is none. */
  note?: string;
};

/** The user's own mode, as it is now. */
export type OwnMode = {
  /** The mode. */
  mode: Mode;
  /** The number of the choice. */
  revision: number;
};

/** Something the client asked for was not done. The connection goes on. */
export type Failure = {
  /** What was wrong. */
  code: ErrorName;
  /** The watch request, watch number or 0 that it is about. */
  about: number;
  /** For people: the culprit and the next step. */
  text: string;
};

/** Whether the node's word may be old from now on. */
export type Stale = {
  /** True: from now on; false: it is good again. */
  stale: boolean;
};

/** Said before the connection is closed, where a number alone would not do. */
export type Close = {
  /** The code that the connection will be closed with. */
  code: CloseName;
  /** Come back no sooner than after this time; 0: as the client likes. */
  retry_after_ms: number;
};

/** The fresh token was taken. */
export type TokenLife = {
  /** How long it lasts; 0: it does not end. */
  lasts_ms: number;
};

/** Who is in a room, whole: as far as this client may see, each user once. */
export type Room = {
  /** The client's number for the room. */
  number: number;
  /** The members. */
  members: Array<Member>;
};

/** What changed in a room. */
export type RoomEvents = {
  /** The client's number for the room. */
  number: number;
  /** The members who came or look otherwise; those who are offline are there no more. */
  members: Array<Member>;
};

/** How many are in a room that is too large to name all. */
export type Crowd = {
  /** The client's number for the room. */
  number: number;
  /** About how many users. */
  count: number;
  /** Some of them, the same ones as long as they are there. */
  sample: Array<Member>;
};

/** A user in a room. */
export type Member = {
  /** The user's name. */
  user: string;
  /** What this client may see. */
  state: State;
};

/** The sessions of the client's own user, whole. */
export type Sessions = {
  /** The sessions. */
  sessions: Array<OwnSession>;
};

/** A session of the client's own user. */
export type OwnSession = {
  /** The session's id. */
  session: string;
  /** What the person may call the device; absent if nobody said. */
  device?: string;
  /** Whether the person has not touched the device for a while; absent if not. */
  idle?: boolean;
  /** Whether its connection has ended and it still counts; absent if not. */
  lingering?: boolean;
  /** Whether it does not count for the user's state; absent if it does. */
  passive?: boolean;
  /** Whether it is the client's own; absent if not. */
  this?: boolean;
  /** How long ago it began. */
  since_ago_ms: number;
};

/** What a poll asks: a POST to `poll`, below the endpoint's own path. */
export type Poll = {
  /** The users, 1 to 1,000 of them; none will do where a session is kept alive. */
  users: Array<string>;
  /** What the last answer about the same users in the same order gave; absent: tell everything. */
  mark?: string;
  /** The session that the poll keeps alive; absent: none. */
  session?: string;
  /** How soon the next poll comes: the session lives for twice as long. Absent: 30,000. */
  interval_ms?: number;
  /** Idle or active, if the client wants to say. */
  idle?: boolean;
  /** The user's mode as this client knows it, as in a hello. */
  mode?: ModeChoice;
  /** The rooms that the session is in, these and no others, up to 32; absent: nothing is said of rooms. */
  rooms?: Array<string>;
};

/** The answer to a poll. */
export type Polled = {
  /** Whether it speaks of all users asked about: those that are not listed are offline and were never seen. Else it lists those that look otherwise than the mark told. */
  full: boolean;
  /** For the next poll of the same users in the same order. */
  mark: string;
  /** The users. */
  users: Array<PolledUser>;
  /** The rooms that the poll named, whole, but for those of which nobody can say who is there; absent if that is none. */
  rooms?: Array<PolledRoom>;
};

/** A user in the answer to a poll. */
export type PolledUser = {
  /** The user's name. */
  user: string;
  /** What may be seen. */
  state: State;
  /** How long ago the user was last seen; only while offline, absent if never. */
  seen_ago_ms?: number;
  /** Whether that is no more than a bound; absent if not. */
  coarse?: boolean;
  /** The user's note; absent if there is none. */
  note?: string;
};

/** A room in the answer to a poll. */
export type PolledRoom = {
  /** The room's id. */
  room: string;
  /** Whether the user may not be there; absent if it may. */
  refused?: boolean;
  /** About how many are there, if these are only some of them. */
  count?: number;
  /** Who is there, as far as this user may see. */
  members: Array<Member>;
};

/** Why a poll was not answered. */
export type PollRefused = {
  /** The name of the reason: of a close code, or of an error. */
  error: string;
  /** For people: the culprit and the next step. */
  text: string;
};
