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

const DAY_MS = 86_400_000;

/** Makes the view of a row; the one from before again if nothing in it has changed. */
export function viewOf(user: string, stale: boolean, row: number, source: Source, before: AnyView): View {
  const state = STATES[source.state(row)] ?? "unknown";
  if (state === "unknown") return unknownView(user, stale, before);
  if (state === "offline") return made(user, state, stale, before, undefined, lastSeenOf(source.seenAgoMs(row), before.lastSeen));
  return made(user, state, stale, before, source.note(row));
}

/** The view of one of whom nothing is known. */
export function unknownView(user: string, stale: boolean, before?: AnyView): View {
  return made(user, "unknown", stale, before);
}

function made(user: string, state: State, stale: boolean, before?: AnyView, note?: string, lastSeen?: LastSeen): View {
  const same =
    before?.state === state && before.stale === stale && before.note === note && before.lastSeen === lastSeen;
  if (same) return before as View;
  const view: { -readonly [field in keyof AnyView]: AnyView[field] } = { user, state, stale };
  // Only the fields that go with the state were given, above.
  if (note !== undefined) view.note = note;
  if (lastSeen !== undefined) view.lastSeen = lastSeen;
  return Object.freeze(view) as View;
}

function lastSeenOf(agoMs: number, before: LastSeen | undefined): LastSeen | undefined {
  if (agoMs === -1) return undefined;
  const bound = agoMs < 0;
  if (bound) agoMs = -2 - agoMs;
  // Told as three days or as seven, and grown a little since.
  const coarse = bound ? (agoMs < 4 * DAY_MS ? "recently" : "this week") : undefined;
  const at = Date.now() - agoMs;
  if (before !== undefined && before.coarse === coarse && Math.abs(before.at.getTime() - at) < SAME_MOMENT_MS) return before;
  return Object.freeze({
    // A Date can be written to even inside a frozen object: each reader gets its own.
    get at() {
      return new Date(at);
    },
    agoMs,
    ...(coarse && { coarse }),
  });
}
