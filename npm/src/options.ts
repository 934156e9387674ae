import { GreendotError } from "./errors.js";
import type { Options } from "./types.js";

/** Options that were looked through. */
export interface Settings {
  /** Absolute `ws:` or `wss:` addresses; at least one. */
  readonly nodes: readonly string[];
  readonly token: Options["token"];
  readonly session: string | undefined;
  /** As the wasm client takes it: -1 leaves it to the server. */
  readonly idleAfterSecs: number;
}

/**
 * Refuses what cannot work, where the mistake was made and not at the first dial. `dials`: whether it will come to one;
 * a server, which never dials, has no origin that a path could belong to.
 */
export function settingsOf(options: Options, dials: boolean): Settings {
  const { token, session, idleAfter } = options;
  if (typeof token !== "function") throw wrong("token", "it must be a function", "Give `token: () => …`.");
  if (session !== undefined && (session === "" || new TextEncoder().encode(session).length > SESSION_BYTES)) {
    throw wrong("session", `it must be 1 to ${SESSION_BYTES} bytes long`, "Leave it out, or give a shorter one.");
  }
  if (idleAfter !== undefined && !(idleAfter >= 0 && idleAfter <= IDLE_AFTER_MAX)) {
    throw wrong("idleAfter", `it must be 0 to ${IDLE_AFTER_MAX} seconds`, "Give whole seconds, or 0 for never.");
  }
  return { nodes: dials ? nodesOf(options) : [], token, session, idleAfterSecs: idleAfter === undefined ? -1 : Math.ceil(idleAfter) };
}

function nodesOf({ url, urls }: Options): string[] {
  if (url !== undefined && urls !== undefined) throw wrong("urls", "it stands beside url", "Give one of the two.");
  const given = url === undefined ? urls : [url];
  if (given === undefined || given.length === 0) throw wrong("url", "it is missing", "Give `url: \"/presence\"`, say.");
  return given.map(node => socketUrl(node, url === undefined ? "urls" : "url"));
}

function socketUrl(given: string | URL, option: string): string {
  let url: URL;
  try {
    url = new URL(given, typeof location === "undefined" ? undefined : location.href);
  } catch (error) {
    const next = "Give a path of this origin, or a whole wss:// address.";
    throw wrong(option, `"${given}" is no address`, next, error);
  }
  if (url.protocol === "http:") url.protocol = "ws:";
  else if (url.protocol === "https:") url.protocol = "wss:";
  if (url.protocol !== "ws:" && url.protocol !== "wss:") {
    throw wrong(option, `"${given}" is no address of a WebSocket`, "Give one with wss:, ws:, https: or http:.");
  }
  // A WebSocket refuses addresses with a fragment.
  url.hash = "";
  return url.href;
}

function wrong(option: string, what: string, next: string, cause?: unknown): GreendotError {
  return new GreendotError("bad_option", `${option}: ${what}`, `the option ${option}`, next, cause);
}

/** The protocol's limit. */
const SESSION_BYTES = 64;

/** A year; the wasm client counts in 32 bits. */
const IDLE_AFTER_MAX = 366 * 24 * 3_600;
