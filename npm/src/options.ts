import { byteLength, SESSION_BYTES } from "./bytes.js";
import { GreendotError } from "./errors.js";
import type { Options } from "./types.js";

/** Options that were looked through. */
export interface Settings {
  /** Absolute `ws:` or `wss:` addresses; at least one. */
  readonly nodes: readonly string[];
  readonly token: Options["token"];
  readonly session: string | undefined;
  readonly device: string | undefined;
  /** As the wasm client takes it: -1 leaves it to the server. */
  readonly idleAfterSecs: number;
  readonly debug: boolean;
}

/**
 * Refuses what cannot work, where the mistake was made and not at the first dial. `dials`: whether it will come to one;
 * a server, which never dials, has no origin that a path could belong to.
 */
export function settingsOf(options: Options, dials: boolean): Settings {
  // From JavaScript anything can come, or nothing.
  const { token, session, device, idleAfter } = options ?? {};
  for (const name in options) {
    if (name in KNOWN) continue;
    throw new GreendotError("bad_option", "it is unknown", `the option ${name}`, `Known are ${Object.keys(KNOWN)}.`);
  }
  if (typeof token !== "function") throw wrong("token", token, "Give a function.");
  for (const [name, text] of [["session", session], ["device", device]] as const) {
    if (text !== undefined && (text === "" || byteLength(text) > SESSION_BYTES)) {
      throw wrong(name, text, `Give 1 to ${SESSION_BYTES} bytes, or leave it out.`);
    }
  }
  if (idleAfter !== undefined && !(idleAfter >= 0 && idleAfter <= IDLE_AFTER_MAX)) {
    throw wrong("idleAfter", idleAfter, `Give 0 (never) to ${IDLE_AFTER_MAX} seconds.`);
  }
  return {
    nodes: dials ? nodesOf(options) : [],
    token,
    session,
    device,
    idleAfterSecs: idleAfter === undefined ? -1 : Math.ceil(idleAfter),
    debug: options.debug === true,
  };
}

function nodesOf({ url, urls }: Options): string[] {
  const given = urls ?? (url === undefined ? [] : [url]);
  if (given.length === 0 || (urls !== undefined && url !== undefined)) {
    throw wrong("url", url, "Give either url or urls, with at least one address.");
  }
  return given.map(socketUrl);
}

function socketUrl(given: string | URL): string {
  const next = "Give a path of this origin, or a whole wss: address.";
  if (typeof given !== "string" && !(given instanceof URL)) throw wrong("url", given, next);
  let url: URL;
  try {
    url = new URL(given, typeof location === "undefined" ? undefined : location.href);
  } catch (error) {
    throw wrong("url", given, next, error);
  }
  url.protocol = url.protocol.replace("http", "ws");
  if (!/^wss?:$/.test(url.protocol)) throw wrong("url", given, next);
  // A WebSocket refuses addresses with a fragment.
  url.hash = "";
  return url.href;
}

function wrong(option: string, value: unknown, next: string, cause?: unknown): GreendotError {
  // Not the value of a token: it may be a secret.
  const what = option === "token" ? typeof value : `"${value}"`;
  return new GreendotError("bad_option", `${option} cannot be ${what}`, `the option ${option}`, next, cause);
}

/** All there are: the compiler holds it to the type. */
const KNOWN: Record<keyof Options, 0> = {
  url: 0,
  urls: 0,
  token: 0,
  session: 0,
  device: 0,
  idleAfter: 0,
  wasm: 0,
  headless: 0,
  debug: 0,
};

/** A year; the wasm client counts in 32 bits. */
const IDLE_AFTER_MAX = 366 * 24 * 3_600;
