import type { Mode, State } from "../../src/types.js";
import { MODES, STATES } from "../../src/protocol.js";

/** One user, as a server tells of them. */
export interface Entry {
  number: number;
  state: State;
  version: number;
  agoMs?: number;
  coarse?: boolean;
  note?: string;
}

const HAS_SEEN = 0x08;
const HAS_NOTE = 0x10;
const IS_COARSE = 0x20;

/** A server's frames in binary, as far as a client needs them to get on. */
export const server = {
  welcome({ beatMs = 10_000, ticket = "ticket", mode = "auto" as Mode } = {}): Uint8Array {
    const spans = [beatMs, 30_000, 5_000, 0].map(varint);
    return bytes(1, 0, ...spans, text("s1"), varint(1), MODES.indexOf(mode), varint(0), text(ticket), varint(0));
  },
  answer: (number: number): Uint8Array => bytes(2, number),
  snapshot: (entries: Entry[], request = 1): Uint8Array => bytes(3, varint(request), entriesOf(entries)),
  events: (entries: Entry[]): Uint8Array => bytes(4, entriesOf(entries)),
  error: (code: number, about: number, why: string): Uint8Array => bytes(6, code, varint(about), text(why)),
  room: (number: number, members: [string, State][]): Uint8Array => bytes(10, varint(number), membersOf(members)),
  crowd: (number: number, count: number, sample: [string, State][]): Uint8Array =>
    bytes(12, varint(number), varint(count), membersOf(sample)),
};

type Part = number | Part[];

function bytes(...parts: Part[]): Uint8Array {
  return Uint8Array.from(parts.flat(9) as number[]);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 0x80) + 0x80, ...varint(Math.floor(value / 0x80))];
}

function text(text: string): Part[] {
  const encoded = new TextEncoder().encode(text);
  return [varint(encoded.length), [...encoded]];
}

function entriesOf(entries: Entry[]): Part[] {
  const entry = ({ number, state, version, agoMs, coarse, note }: Entry): Part[] => [
    varint(number),
    STATES.indexOf(state) | (agoMs === undefined ? 0 : HAS_SEEN) | (coarse ? IS_COARSE : 0) | (note ? HAS_NOTE : 0),
    varint(version),
    agoMs === undefined ? [] : varint(agoMs),
    note ? text(note) : [],
  ];
  return [varint(1), varint(entries.length), entries.map(entry)];
}

function membersOf(members: [string, State][]): Part[] {
  return [varint(members.length), members.map(([user, state]) => [STATES.indexOf(state), text(user)])];
}
