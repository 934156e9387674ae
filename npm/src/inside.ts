import type { Rows } from "./rows.js";

/** How the devtools panel asks a client for what is inside it. */
export const INSIDE: unique symbol = Symbol.for("greendot.inside");

/** What is inside. */
export interface Inside {
  readonly rows: Rows;
  /** Who is told of each new socket. */
  readonly taps: Set<(socket: WebSocket) => void>;
  readonly socket: WebSocket | undefined;
}
