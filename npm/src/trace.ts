import { bytesOf, frameOf, inWords } from "./frame-words.js";
import type { ClientFrame, ServerFrame } from "./protocol.js";
import { readClient, readServer } from "./wire.js";

/** One frame, or an event of a connection. */
export interface Line {
  /** By this device's clock. */
  readonly at: number;
  readonly way: "sent" | "heard" | "socket";
  readonly text: string;
}

/** So many of the newest lines are kept. */
const LINES = 200;

/** What is seen of a client's connections: counts, round trips, versions, and the newest frames in words. */
export class Trace {
  readonly sent = { frames: 0, bytes: 0 };
  readonly heard = { frames: 0, bytes: 0 };
  readonly lines: Line[] = [];
  /** The last round trip, in ms. */
  rtt: number | undefined;
  epoch: number | undefined;
  /** By the numbers of this connection. */
  readonly versions = new Map<number, number>();
  readonly #beats = new Map<number, number>();
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Follows a socket, new or open. What it gives back ends that. */
  follow(socket: WebSocket): () => void {
    const ends = new AbortController();
    const on = (type: "open" | "message" | "close", heard: (event: never) => void) =>
      socket.addEventListener(type, heard as (event: Event) => void, { signal: ends.signal });
    const plain = socket.send;
    const send: typeof plain = data => {
      this.#sent(data);
      plain.call(socket, data);
    };
    socket.send = send;
    this.versions.clear();
    this.#beats.clear();
    this.#add("socket", `${socket.readyState === 1 ? "connected to" : "dials"} ${socket.url}`);
    on("open", () => this.#add("socket", "is connected"));
    on("message", ({ data }: MessageEvent) => this.#heard(data));
    on("close", ({ code, reason }: CloseEvent) => this.#add("socket", `is closed: ${code} ${reason}`.trimEnd()));
    return () => {
      ends.abort();
      if (socket.send === send) socket.send = plain;
    };
  }

  #sent(data: unknown): void {
    const bytes = bytesOf(data);
    if (bytes === undefined) return;
    this.sent.frames++;
    this.sent.bytes += bytes.length;
    const frame = frameOf<ClientFrame>(bytes, readClient);
    if (frame !== null && !(frame instanceof Error) && frame.type === "beat") this.#beats.set(frame.number, performance.now());
    this.#add("sent", inWords(frame, bytes));
  }

  #heard(data: unknown): void {
    const bytes = bytesOf(data);
    if (bytes === undefined) return;
    this.heard.frames++;
    this.heard.bytes += bytes.length;
    const frame = frameOf<ServerFrame>(bytes, readServer);
    if (frame !== null && !(frame instanceof Error)) this.#learn(frame);
    this.#add("heard", inWords(frame, bytes));
  }

  #learn(frame: ServerFrame): void {
    switch (frame.type) {
      case "welcome":
        this.epoch = frame.epoch;
        return;
      case "beat_answer": {
        const sent = this.#beats.get(frame.number);
        if (sent !== undefined) this.rtt = performance.now() - sent;
        this.#beats.delete(frame.number);
        return;
      }
      case "snapshot":
      case "events":
        this.epoch = frame.epoch;
        for (const { number, version } of frame.entries) this.versions.set(number, version);
        return;
      default:
    }
  }

  #add(way: Line["way"], text: string): void {
    this.lines.push({ at: Date.now(), way, text });
    if (this.lines.length > LINES) this.lines.shift();
    this.#changed();
  }
}
