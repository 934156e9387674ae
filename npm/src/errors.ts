import type { ServerErrorName } from "./codes.js";

/** What an error is about, for programs. */
export type ErrorCode =
  | ServerErrorName
  | "bad_option"
  | "bad_call"
  | "bad_mode"
  | "bad_token"
  | "no_websocket"
  | "load_failed"
  | "not_allowed"
  | "token_failed";

/** An error that names the culprit and the next step. */
export class GreendotError extends Error {
  override readonly name = "GreendotError";
  declare readonly code: ErrorCode;
  /** Who or what is at fault, as exactly as is known: an option, an address, a user. */
  declare readonly culprit: string;
  /** What to do about it. */
  declare readonly next: string;

  constructor(code: ErrorCode, what: string, culprit: string, next: string, cause?: unknown) {
    super(`greendot: ${what} (${code}; ${culprit}). ${next}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.culprit = culprit;
    this.next = next;
  }
}

/** For `token` to throw when there is no point in asking again: the link stops, with `not_allowed`. */
export class NotAllowed extends GreendotError {
  constructor(what = "this user may not connect") {
    super("not_allowed", what, "the token function", "Sign in again, then call connect().");
  }
}

/** Whatever was thrown, as one of ours; what is one already knows better than we do here. */
export function wrapped(thrown: unknown, code: ErrorCode, what: string, culprit: string, next: string): GreendotError {
  if (thrown instanceof GreendotError) return thrown;
  return new GreendotError(code, `${what}: ${textOf(thrown)}`, culprit, next, thrown);
}

function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** By its code, not by its class: two copies of this package in one page must still understand each other. */
export function isNotAllowed(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === "not_allowed";
}
