// A user's own sessions. Loaded only by a page that asks for them. What is decided about presence is decided in the wasm half;
// this only asks and listens beside it, on the same connection.

import { byteLength, SESSION_BYTES } from "./bytes.js";
import { closeCode } from "./codes.js";
import type { OwnSession } from "./types.js";
import { readServer } from "./wire.js";

/** The frames' kinds by their numbers. */
const OWN = 14;
const END = 15;
const SESSIONS = 13;

/** Asks for the user's sessions on each connection, as long as that is wanted, and ends those that are to end. */
export class Own {
  readonly #tell: (sessions: readonly OwnSession[]) => void;
  #socket: WebSocket | undefined;
  #wanted = false;
  /** Sessions whose end is still to be asked for. */
  readonly #ending = new Set<string>();

  constructor(tell: (sessions: readonly OwnSession[]) => void) {
    this.#tell = tell;
  }

  /** A connection, new or open. Nothing is sent before the wasm half's hello, which goes out in its own `open` handler. */
  readonly tap = (socket: WebSocket): void => {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const bytes = new Uint8Array(data as ArrayBuffer);
      if (bytes[0] === SESSIONS && this.#wanted && this.#socket === socket) this.#heard(bytes);
    });
    if (socket.readyState === OPEN) this.#greet(socket);
    // Behind the wasm half's handler, which is set once this call has returned.
    else queueMicrotask(() => socket.addEventListener("open", () => this.#greet(socket)));
  };

  want(is: boolean): void {
    if (this.#wanted === is) return;
    this.#wanted = is;
    this.#send(OWN, [Number(is)]);
  }

  /** One whose id no server would take is not there, which is passed over. */
  end(session: string): void {
    if (byteLength(session) > SESSION_BYTES) return;
    this.#ending.add(session);
    this.#sayEnds();
  }

  #greet(socket: WebSocket): void {
    if (this.#socket !== socket) return;
    if (this.#wanted) this.#send(OWN, [1]);
    this.#sayEnds();
  }

  #sayEnds(): void {
    for (const session of this.#ending) {
      const id = new TextEncoder().encode(session);
      if (this.#send(END, [id.length, ...id])) this.#ending.delete(session);
    }
  }

  /** Whether there was a connection to send it on. */
  #send(kind: number, fields: readonly number[]): boolean {
    if (this.#socket?.readyState !== OPEN) return false;
    this.#socket.send(Uint8Array.of(kind, ...fields));
    return true;
  }

  #heard(bytes: Uint8Array): void {
    const heard = Date.now();
    let frame: ReturnType<typeof readServer>;
    try {
      frame = readServer(bytes);
    } catch {
      // The wasm half passes such frames over, so it falls to this one to give the connection up.
      this.#socket?.close(ABANDONED);
      return;
    }
    if (frame?.type !== "sessions") return;
    const sessions = frame.sessions.map(({ session, device, idle, lingering, passive, since_ago_ms, this: here }) =>
      Object.freeze({
        id: session,
        ...(device !== undefined && { device }),
        idle: idle === true,
        lingering: lingering === true,
        passive: passive === true,
        here: here === true,
        // A Date can be written to even inside a frozen object: each reader gets its own.
        get since() {
          return new Date(heard - since_ago_ms);
        },
      }),
    );
    this.#tell(Object.freeze(sessions));
  }
}

/** The close code of a client that gives a connection up. */
const ABANDONED = closeCode("abandoned");

/** `WebSocket.OPEN`, wherever the class itself comes from. */
const OPEN = 1;
