// The golden files of the protocol, which Rust and TypeScript must agree on.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { ClientFrame, ServerFrame } from "../src/protocol.js";
import { readClient, readServer, Unreadable } from "../src/wire.js";
import { readClientText, readServerText } from "./wire/json.js";

interface Vector {
  readonly name: string;
  readonly from: "client" | "server";
  readonly bin?: string;
  readonly text?: string;
  readonly json?: ClientFrame | ServerFrame;
  readonly reads_as?: ClientFrame | ServerFrame | null;
  readonly error?: string;
}

function vectors(file: string): Vector[] {
  const lines = readFileSync(new URL(`../../protocol/vectors/v1/${file}`, import.meta.url), "utf8").trimEnd().split("\n");
  expect(lines.length).toBeGreaterThan(20);
  return lines.map((line) => JSON.parse(line));
}

function bytes(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}

const readBytes = ({ from }: Vector, hex: string) => (from === "client" ? readClient : readServer)(bytes(hex));
const readText = ({ from }: Vector, json: string) => (from === "client" ? readClientText : readServerText)(json);

/** Reads whichever of the two a vector has. */
function read(vector: Vector) {
  return vector.bin === undefined ? readText(vector, vector.text ?? "") : readBytes(vector, vector.bin);
}

describe("golden frames", () => {
  for (const vector of vectors("frames.jsonl"))
    test(vector.name, () => {
      expect(readBytes(vector, vector.bin ?? "")).toEqual(vector.json);
      expect(readText(vector, JSON.stringify(vector.json))).toEqual(vector.json);
    });
});

describe("what others may write", () => {
  for (const vector of vectors("lenient.jsonl"))
    test(vector.name, () => {
      expect(vector.reads_as).toBeDefined();
      expect(read(vector)).toEqual(vector.reads_as);
    });
});

/** What a reader over `JSON.parse` cannot tell from good JSON: a server must, a page need not. */
const LET_PASS: readonly string[] = [
  "json-half-a-pair",
  "json-pair-the-wrong-way-round",
  "json-type-twice",
  "json-field-twice",
  "json-number-with-point",
  "json-number-with-exponent",
  "json-age-too-large",
];

describe("hostile bytes and texts", () => {
  for (const vector of vectors("hostile.jsonl").filter(({ name }) => !LET_PASS.includes(name)))
    test(vector.name, () => {
      expect(() => read(vector)).toThrow(new Unreadable(vector.error as Unreadable["why"]));
    });
});
