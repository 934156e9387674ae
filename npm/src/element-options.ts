import type { State, View } from "./types.js";

/** What `<green-dot>` may be told once, for the whole page. */
export interface GreenDotOptions {
  /** The element's name, `"green-dot"` unless said otherwise. */
  readonly tag?: string;
  /** How far outside of the screen a dot still watches, in CSS: `"200px"` unless said otherwise. */
  readonly margin?: string;
  /** How long a dot that has left the screen goes on watching, in ms: 1,000 unless said otherwise. */
  readonly holdMs?: number;
  /** What a dot is called for those who do not see it, in the page's language: "ana is away" unless said otherwise. */
  readonly label?: (view: View, name: string) => string;
}

/** A dot's name, unless the app says it otherwise. */
export function inEnglish({ state, stale }: View, name: string): string {
  return `${name} is ${WORDS[state]}${stale && state !== "unknown" ? ", as last heard" : ""}`;
}

const WORDS: Record<State, string> = {
  online: "online",
  away: "away",
  busy: "busy",
  dnd: "not to be disturbed",
  offline: "offline",
  unknown: "of unknown status",
};
