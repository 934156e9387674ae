import { STATES } from "./codes.js";
import type { Engine } from "./engine.js";
import type { LastSeen, State, View } from "./types.js";

/** What a view is made from. */
export type Source = Pick<Engine, "state" | "seenAgoMs" | "note">;

/** Any view, without what the state says of the other fields. */
interface AnyView {
  readonly user: string;
  readonly state: State;
  readonly stale: boolean;
  readonly note?: string | undefined;
  readonly lastSeen?: LastSeen | undefined;
}

/** Two ages of the same moment, asked for at different times, differ by rounding only. */
const SAME_MOMENT_MS = 1_000;

/** Makes the view of a row; the one from before again if nothing in it has changed. */
export function viewOf(user: string, stale: boolean, row: number, source: Source, before: AnyView): View {
  const state = STATES[source.state(row)] ?? "unknown";
  const gone = state === "offline";
  const there = !gone && state !== "unknown";
  const note = there ? source.note(row) : undefined;
  const lastSeen = gone ? lastSeenOf(source.seenAgoMs(row), before.lastSeen) : undefined;
  return made({ user, state, stale, ...(note && { note }), ...(lastSeen && { lastSeen }) }, before);
}

/** The view of one of whom nothing is known. */
export function unknownView(user: string, stale: boolean, before?: AnyView): View {
  return made({ user, state: "unknown", stale }, before);
}

function made(view: AnyView, before: AnyView | undefined): View {
  const same =
    before?.state === view.state &&
    before.stale === view.stale &&
    before.note === view.note &&
    before.lastSeen === view.lastSeen;
  // Only the fields that go with the state were put in, above.
  return (same ? before : Object.freeze(view)) as View;
}

function lastSeenOf(agoMs: number, before: LastSeen | undefined): LastSeen | undefined {
  if (agoMs < 0) return undefined;
  const at = Date.now() - agoMs;
  if (before !== undefined && Math.abs(before.at.getTime() - at) < SAME_MOMENT_MS) return before;
  return Object.freeze({
    // A Date can be written to even inside a frozen object: each reader gets its own.
    get at() {
      return new Date(at);
    },
    agoMs,
  });
}
