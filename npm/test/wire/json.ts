// A reader of the JSON encoding over the browser's own `JSON.parse`, after protocol/PROTOCOL.md: one table says which
// fields each kind has. A frame comes out as it is written: words known, defaults left out.

import { CLOSE_CODES, type ClientFrame, ERROR_CODES, MODES, type ServerFrame, STATES } from "../../src/protocol.js";
import { present, Unreadable } from "../../src/wire.js";

/** Reads a field's value, which is undefined if it is absent or null. */
type Field = (value: unknown) => unknown;
type Fields = Readonly<Record<string, Field>>;

const U32 = 2 ** 32 - 1;
/** What 2⁶⁴−1 is as a double. */
const U64 = 2 ** 64;

const refuse = (): never => {
  throw new Unreadable("field");
};
const whole =
  (most: number): Field =>
  (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= most ? value : refuse();
const flag: Field = (value) => (typeof value === "boolean" ? value : refuse());
const text: Field = (value) => (typeof value === "string" ? value : refuse());
const word =
  (words: readonly string[], other?: string): Field =>
  (value) =>
    words.includes(text(value) as string) ? value : (other ?? refuse());
const list =
  (item: Field): Field =>
  (value) =>
    Array.isArray(value) ? value.map(item) : refuse();
const object =
  (fields: Fields): Field =>
  (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return refuse();
    const held = value as Record<string, unknown>;
    return present(Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field(held[name])])));
  };
const or =
  (field: Field, fallback: unknown): Field =>
  (value) =>
    value === undefined || value === null ? fallback : field(value);
/** A field that is left out where it says the default. */
const optional =
  (field: Field, unsaid?: unknown): Field =>
  (value) => {
    const read = or(field, unsaid)(value);
    return read === unsaid ? undefined : read;
  };

/** Seconds are made of milliseconds. */
const inputAge: Field = (value) => Math.min(Math.floor((whole(U64)(value) as number) / 1000), 16_382) * 1000;
const idleAfter: Field = (value) => (whole(U32)(Math.ceil((whole(U64)(value) as number) / 1000)) as number) * 1000;
const mode = word(MODES);
const time = whole(U64);
const number = whole(U32);

const entry = object({
  number,
  state: word(STATES, "unknown"),
  version: number,
  seen_ago_ms: optional(time),
  coarse: optional(flag, false),
  note: optional(text, ""),
});

const member = object({ user: text, state: word(STATES, "unknown") });

const CLIENT: Readonly<Record<ClientFrame["type"], Fields>> = {
  hello: {
    session: or(text, ""),
    token: or(text, ""),
    passive: optional(flag, false),
    idle: optional(flag),
    input_age_ms: optional(inputAge),
    idle_after_ms: optional(idleAfter),
    mode: optional(object({ mode, revision: or(number, 0), fresh: optional(flag, false) })),
    device: optional(text, ""),
  },
  beat: { number: whole(255), input_age_ms: optional(inputAge) },
  watch: { request: number, users: list(object({ number, user: text })) },
  unwatch: { numbers: list(number) },
  mode: { mode },
  note: { note: text },
  idle: {},
  active: {},
  closing: {},
  bye: {},
  token: { token: text },
  join: { number, room: text },
  leave: { number },
  own: { on: flag },
  end: { session: text },
};

const SERVER: Readonly<Record<ServerFrame["type"], Fields>> = {
  welcome: {
    beat_ms: time,
    ttl_ms: time,
    grace_ms: time,
    idle_after_ms: time,
    session: text,
    epoch: number,
    mode,
    revision: number,
    ticket: optional(text, ""),
    stale: optional(flag, false),
    token_ms: optional(time, 0),
  },
  beat_answer: { number: whole(255) },
  snapshot: { request: number, epoch: number, entries: list(entry) },
  events: { epoch: number, entries: list(entry) },
  mode: { mode, revision: number },
  error: { code: word(Object.values(ERROR_CODES), "other"), about: number, text },
  stale: { stale: flag },
  close: { code: word(Object.values(CLOSE_CODES), ""), retry_after_ms: time },
  token: { lasts_ms: time },
  room: { number, members: list(member) },
  room_events: { number, members: list(member) },
  crowd: { number, count: number, sample: list(member) },
  sessions: {
    sessions: list(
      object({
        session: text,
        device: optional(text, ""),
        idle: optional(flag, false),
        lingering: optional(flag, false),
        passive: optional(flag, false),
        this: optional(flag, false),
        since_ago_ms: time,
      }),
    ),
  },
};

export const readClientText = (json: string) => read(json, CLIENT) as ClientFrame | null;

export function readServerText(json: string): ServerFrame | null {
  const frame = read(json, SERVER) as ServerFrame | null;
  // A code of a later version: the close itself follows.
  return frame?.type === "close" && !frame.code ? null : frame;
}

function read(json: string, kinds: Readonly<Record<string, Fields>>): unknown {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Unreadable("syntax");
  }
  const { type } = object({ type: text })(value) as { type: string };
  const fields = Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  return fields ? { type, ...(object(fields)(value) as object) } : null;
}
