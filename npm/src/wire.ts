// A second reader of the binary encoding, written after protocol/PROTOCOL.md and sharing nothing with the Rust one. A frame
// comes out in its JSON form. The debug log reads with it, and the golden files show that both readers read the same; a page
// that logs nothing does not load it.

import {
  CLOSE_CODES,
  type ClientFrame,
  type CloseName,
  type Entry,
  ERROR_CODES,
  type ErrorName,
  type Member,
  type Mode,
  MODES,
  type OwnSession,
  type ServerFrame,
  STATES,
  type WatchItem,
} from "./protocol.js";

/** Why bytes or a text are no frame, in the golden files' words. */
export class Unreadable extends Error {
  readonly why: "truncated" | "overflow" | "text" | "choice" | "syntax" | "field";

  constructor(why: Unreadable["why"]) {
    super(why);
    this.why = why;
  }
}

/** A frame that its optional fields are put into as far as they are there. */
type Optional<T> = { -readonly [K in keyof T]?: T[K] | undefined };

/** Without the fields that are undefined. */
export function present<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

/** A client's frame; null if its kind is unknown here. */
export function readClient(bytes: Uint8Array): ClientFrame | null {
  const from = new Reader(bytes);
  switch (from.byte()) {
    case 1:
      return hello(from);
    case 2: {
      const number = from.byte();
      const age = from.number();
      return present({ type: "beat", number, input_age_ms: age === 0 ? undefined : inputAge(age - 1) }) as ClientFrame;
    }
    case 3: {
      const request = from.number();
      const users = from.list(2, (): WatchItem => ({ number: from.number(), user: from.text() }));
      return { type: "watch", request, users };
    }
    case 4:
      return { type: "unwatch", numbers: from.list(1, () => from.number()) };
    case 5:
      return { type: "mode", mode: mode(from) };
    case 6:
      return { type: "note", note: from.text() };
    case 7:
      return { type: "idle" };
    case 8:
      return { type: "active" };
    case 9:
      return { type: "closing" };
    case 10:
      return { type: "bye" };
    case 11:
      return { type: "token", token: from.text() };
    case 12:
      return { type: "join", number: from.number(), room: from.text() };
    case 13:
      return { type: "leave", number: from.number() };
    case 14:
      return { type: "own", on: from.byte() !== 0 };
    case 15:
      return { type: "end", session: from.text() };
    default:
      return null;
  }
}

/** A server's frame; null if its kind, or the code it closes with, is unknown here. */
export function readServer(bytes: Uint8Array): ServerFrame | null {
  const from = new Reader(bytes);
  switch (from.byte()) {
    case 1:
      return welcome(from);
    case 2:
      return { type: "beat_answer", number: from.byte() };
    case 3:
      return { type: "snapshot", request: from.number(), epoch: from.number(), entries: entries(from) };
    case 4:
      return { type: "events", epoch: from.number(), entries: entries(from) };
    case 5:
      return { type: "mode", mode: mode(from), revision: from.number() };
    case 6: {
      const code: ErrorName = (ERROR_CODES as Readonly<Record<number, ErrorName>>)[from.byte()] ?? "other";
      return { type: "error", code, about: from.number(), text: from.text() };
    }
    case 7:
      return { type: "stale", stale: from.byte() !== 0 };
    case 8: {
      const code: CloseName | undefined = (CLOSE_CODES as Readonly<Record<number, CloseName>>)[from.number(16n)];
      const retry_after_ms = from.number(64n);
      return code === undefined ? null : { type: "close", code, retry_after_ms };
    }
    case 9:
      return { type: "token", lasts_ms: from.number(64n) };
    case 10:
      return { type: "room", number: from.number(), members: members(from) };
    case 11:
      return { type: "room_events", number: from.number(), members: members(from) };
    case 12:
      return { type: "crowd", number: from.number(), count: from.number(), sample: members(from) };
    case 13:
      return { type: "sessions", sessions: sessions(from) };
    default:
      return null;
  }
}

function hello(from: Reader): ClientFrame {
  const flags = from.byte();
  const has = (flag: number) => (flags & flag) !== 0;
  const session = from.text();
  const token = from.text();
  return present({
    type: "hello",
    session,
    token,
    passive: has(0x01) || undefined,
    idle: has(0x02) ? has(0x04) : undefined,
    input_age_ms: has(0x08) ? inputAge(from.number()) : undefined,
    idle_after_ms: has(0x10) ? from.number() * 1000 : undefined,
    mode: has(0x20)
      ? present({ mode: mode(from), revision: from.number(), fresh: has(0x40) || undefined })
      : undefined,
    device: (has(0x80) ? from.text() : "") || undefined,
  }) as ClientFrame;
}

function welcome(from: Reader): ServerFrame {
  const stale = (from.byte() & 0x01) !== 0;
  return present({
    type: "welcome",
    beat_ms: from.number(64n),
    ttl_ms: from.number(64n),
    grace_ms: from.number(64n),
    idle_after_ms: from.number(64n),
    session: from.text(),
    epoch: from.number(),
    mode: mode(from),
    revision: from.number(),
    ticket: from.text() || undefined,
    stale: stale || undefined,
    token_ms: (from.ended() ? 0 : from.number(64n)) || undefined,
  }) as ServerFrame;
}

function entries(from: Reader): Entry[] {
  return from.list(3, () => {
    const number = from.number();
    const head = from.byte();
    const entry: Optional<Entry> = {
      number,
      state: STATES[head & 0x07] ?? "unknown",
      version: from.number(),
      seen_ago_ms: head & 0x08 ? from.number(64n) : undefined,
      coarse: (head & 0x28) === 0x28 || undefined,
      note: (head & 0x10 ? from.text() : "") || undefined,
    };
    if (head & 0x80) from.bytes();
    return present(entry) as Entry;
  });
}

function members(from: Reader): Member[] {
  return from.list(2, () => {
    const head = from.byte();
    const member: Member = { user: from.text(), state: STATES[head & 0x07] ?? "unknown" };
    if (head & 0x80) from.bytes();
    return member;
  });
}

function sessions(from: Reader): OwnSession[] {
  return from.list(4, () => {
    const head = from.byte();
    const own = present({
      session: from.text(),
      device: from.text() || undefined,
      idle: (head & 0x01) !== 0 || undefined,
      lingering: (head & 0x02) !== 0 || undefined,
      passive: (head & 0x04) !== 0 || undefined,
      this: (head & 0x08) !== 0 || undefined,
      since_ago_ms: from.number(64n),
    });
    if (head & 0x80) from.bytes();
    return own as OwnSession;
  });
}

function mode(from: Reader): Mode {
  const word = MODES[from.byte()];
  if (word === undefined) throw new Unreadable("choice");
  return word;
}

/** Milliseconds from seconds, as many as can be told. */
const inputAge = (seconds: number) => Math.min(seconds, 16_382) * 1000;

class Reader {
  readonly #all: Uint8Array;
  #at = 0;

  constructor(all: Uint8Array) {
    this.#all = all;
  }

  /** Whether the frame ends here. */
  ended(): boolean {
    return this.#at >= this.#all.length;
  }

  byte(): number {
    const byte = this.#all[this.#at++];
    if (byte === undefined) throw new Unreadable("truncated");
    return byte;
  }

  /** A number of so many bits. */
  number(bits = 32n): number {
    const value = this.#big();
    if (value >> bits) throw new Unreadable("overflow");
    return Number(value);
  }

  bytes(): Uint8Array {
    const size = this.#big();
    if (size > this.#all.length - this.#at) throw new Unreadable("truncated");
    const start = this.#at;
    this.#at += Number(size);
    return this.#all.subarray(start, this.#at);
  }

  text(): string {
    const bytes = this.bytes();
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new Unreadable("text");
    }
  }

  /** Items of at least so many bytes. */
  list<T>(least: number, item: () => T): T[] {
    const count = this.#big();
    if (count > (this.#all.length - this.#at) / least) throw new Unreadable("truncated");
    return Array.from({ length: Number(count) }, item);
  }

  #big(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (value >> 64n) throw new Unreadable("overflow");
        return value;
      }
    }
    throw new Unreadable("overflow");
  }
}
