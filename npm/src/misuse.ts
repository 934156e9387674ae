// What an app is told in development builds alone. Nothing here changes what happens.

import type { Settings } from "./options.js";
import type { Presence } from "./types.js";

declare global {
  /**
   * Whether this is a development build: `build.mjs` makes one, and bundlers take it by the condition `development`. What
   * stands behind it is not in what people load.
   */
  const DEV: boolean;
}

/** The last client for each set of addresses. */
const made = new Map<string, WeakRef<Presence>>();

/** A second client to the same server is a second session: mostly one that a hot reload or a rendering has made. */
export function warnOfSecond({ nodes }: Settings, client: Presence): void {
  if (nodes.length === 0) return;
  const where = nodes.join();
  const before = made.get(where)?.deref();
  made.set(where, new WeakRef(client));
  if (before === undefined || before.link.state === "closed") return;
  warn(
    `connect() was called again for ${where} while an earlier client is open`,
    'Make it once, outside of components; kept(() => connect(…)) from "greendot/hot" lives through hot reloads.',
  );
}

/** How long after the question somebody may still begin to watch, in ms. */
const SOON = 5_000;
/** Whether it was said, or is about to be looked into: once says it for all of them. */
let asked = false;

/** Somebody asks for a user whom nobody watches. Bindings do so just before they watch; who never does sees nothing. */
export function warnOfStranger(user: string, isWatched: () => boolean): void {
  if (asked || isWatched()) return;
  asked = true;
  setTimeout(() => {
    asked = !isWatched();
    if (!asked) return;
    warn(`get("${user}") was asked, and nobody watches "${user}"`, "Call watch(user, listener) for as long as it is shown.");
  }, SOON);
}

function warn(what: string, next: string): void {
  console.warn(`greendot: ${what}. ${next} (Said in development builds only.)`);
}
