import { STATES } from "./codes.js";
import type { Engine } from "./engine.js";
import type { LastSeen, View } from "./types.js";

/** What a view is made from. */
export type Source = Pick<Engine, "state" | "seenAgoMs" | "note">;

/** Two ages of the same moment, asked for at different times, differ by rounding only. */
const SAME_MOMENT_MS = 1_000;

/** Makes the view of a row; the one from before again if nothing in it has changed. */
export function viewOf(user: string, stale: boolean, row: number, source: Source, before: View | undefined): View {
  const state = STATES[source.state(row)] ?? "unknown";
  if (state === "offline") {
    const lastSeen = lastSeenOf(source.seenAgoMs(row), before);
    if (before?.state === "offline" && before.stale === stale && before.lastSeen === lastSeen) return before;
    return Object.freeze(lastSeen === undefined ? { user, state, stale } : { user, state, stale, lastSeen });
  }
  if (state === "unknown") return unknownView(user, stale, before);
  const note = source.note(row) || undefined;
  if (before?.state === state && before.stale === stale && before.note === note) return before;
  return Object.freeze(note === undefined ? { user, state, stale } : { user, state, stale, note });
}

/** The view of one of whom nothing is known. */
export function unknownView(user: string, stale: boolean, before?: View): View {
  if (before?.state === "unknown" && before.stale === stale) return before;
  return Object.freeze({ user, state: "unknown", stale });
}

function lastSeenOf(agoMs: number, before: View | undefined): LastSeen | undefined {
  if (agoMs < 0) return undefined;
  const at = Date.now() - agoMs;
  const known = before?.state === "offline" ? before.lastSeen : undefined;
  if (known !== undefined && Math.abs(known.at.getTime() - at) < SAME_MOMENT_MS) return known;
  return Object.freeze({
    // A Date can be written to even inside a frozen object: each reader gets its own.
    get at() {
      return new Date(at);
    },
    agoMs,
  });
}
