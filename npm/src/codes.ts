import type { Link, Mode, State } from "./types.js";

/** Numbers of the wasm client's face, by position. */
export const STATES: readonly State[] = ["offline", "online", "away", "busy", "dnd", "unknown"];
export const MODES: readonly Mode[] = ["auto", "away", "busy", "dnd", "invisible"];
export const LINKS: readonly Link["state"][] = ["connecting", "live", "waiting", "stopped", "closed"];

/**
 * Why the server closed the connection. After those below 4400 the client comes back by itself, after the others it
 * stops. The protocol crate holds the same table; a test compares them.
 */
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
  4413: "too_large",
  4426: "wrong_version",
} as const;

/** What the server may say of a request that it did not carry out. */
export const ERROR_CODES = {
  1: "bad_user",
  2: "too_many_watches",
  3: "note_too_long",
  4: "bad_request",
} as const;

export type CloseName = (typeof CLOSE_CODES)[keyof typeof CLOSE_CODES];
export type ServerErrorName = (typeof ERROR_CODES)[keyof typeof ERROR_CODES] | "other";

/** Why the link is as it is: the server's word, or `lost` (it broke), or `load_failed` (the wasm file did not load). */
export type Why = CloseName | "lost" | "load_failed";

/** The name of a close code; 0 has none, and what is not the server's word is a loss like any other. */
export function whyOf(code: number): Why | undefined {
  if (code === 0) return undefined;
  return (CLOSE_CODES as Readonly<Record<number, CloseName>>)[code] ?? "lost";
}

export function errorNameOf(code: number): ServerErrorName {
  return (ERROR_CODES as Readonly<Record<number, ServerErrorName>>)[code] ?? "other";
}
