import { CLOSE_CODES, type CloseName, ERROR_CODES, type ErrorName } from "./protocol.js";
import type { Link } from "./types.js";

export { MODES, STATES } from "./protocol.js";
export type { CloseName };

/** Numbers of the wasm client's face, by position. */
export const LINKS: readonly Link["state"][] = ["connecting", "live", "waiting", "stopped", "closed"];

/** What the server may say of a request that it did not carry out. */
export type ServerErrorName = ErrorName;

/**
 * Why the link is as it is: the server's word, or `lost` (it broke), `load_failed` (the wasm file did not load), or, of a live
 * link, `polled`: no WebSocket opens here, so the view is read every 20 s and rooms are not known.
 */
export type Why = CloseName | "lost" | "load_failed" | "polled";

/** The name of a close code; 0 has none, and what is not the server's word is a loss like any other. */
export function whyOf(code: number): Why | undefined {
  if (code === 0) return undefined;
  return (CLOSE_CODES as Readonly<Record<number, CloseName>>)[code] ?? "lost";
}

/** The number of a close code; a name that is not among them has none. */
export function closeCode(name: CloseName): number;
export function closeCode(name: string | undefined): number | undefined;
export function closeCode(name: string | undefined): number | undefined {
  const entry = Object.entries(CLOSE_CODES).find(it => it[1] === name);
  return entry && Number(entry[0]);
}

export function errorNameOf(code: number): ServerErrorName {
  return (ERROR_CODES as Readonly<Record<number, ServerErrorName>>)[code] ?? "other";
}
