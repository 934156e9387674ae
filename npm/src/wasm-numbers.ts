// The kinds of what goes in and out of the wasm module. A file of their own, because bundlers then put the bare numbers where they
// are used.

// What is said, as in `client-wasm/src/face/input.rs`; each with its numbers, then its bytes.
export const CONNECT = 0;
export const DISCONNECT = 1;
export const SIGN_OUT = 2;
export const DEVICE = 3;
export const MODE = 4;
export const NOTE = 5;
export const SUBSCRIBE = 6;
export const UNSUBSCRIBE = 7;
export const JOIN = 8;
export const LEAVE = 9;
export const PAGE_EVENT = 10;
export const INPUT = 11;
export const INPUT_ELSEWHERE = 12;
export const TOKEN = 13;
export const TOKEN_FAILED = 14;
export const NOT_ALLOWED = 15;
export const OPENED = 16;
export const FRAME = 17;
export const CLOSED = 18;
export const TIMEOUT = 19;

// What comes out, as in `client-wasm/src/face/output.rs`.
export const IS_CHANGED = 1;
export const IS_ROOM = 2;
export const IS_NEED_TOKEN = 3;
export const IS_DIAL = 4;
export const IS_SEND = 5;
export const IS_CLOSE = 6;
export const IS_LINK = 7;
export const IS_STALE = 8;
export const IS_MODE = 9;
export const IS_BEACON = 10;
export const IS_ERROR = 11;
