import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CLOSE_CODES, ERROR_CODES, MODES, STATES, whyOf } from "../src/codes.js";

const rust = (file: string) => readFileSync(new URL(`../../protocol/src/${file}`, import.meta.url), "utf8");

test("close codes are the protocol's", () => {
  const theirs = [...rust("close.rs").matchAll(/^ {4}\w+ = (\d+), "(\w+)";$/gm)];
  expect(theirs.length).toBeGreaterThan(10);
  expect(CLOSE_CODES).toEqual(Object.fromEntries(theirs.map(([, number, name]) => [number, name])));
});

test("error codes are the protocol's", () => {
  const names = new Map([...rust("frame.rs").matchAll(/Self::(\w+) => "(\w+)"/g)].map(([, id, name]) => [id, name]));
  const theirs = [...rust("frame.rs").matchAll(/^ {12}(\d+) => Self::(\w+),$/gm)];
  expect(theirs.length).toBeGreaterThan(3);
  expect(ERROR_CODES).toEqual(Object.fromEntries(theirs.map(([, number, id]) => [number, names.get(id)])));
});

test("states and modes are the protocol's", () => {
  const enums = rust("presence.rs");
  const words = (name: string) =>
    [...(enums.split(`pub enum ${name} {`)[1]?.split("\n}")[0] ?? "").matchAll(/(\w+) = (\d+),/g)].map(
      ([, word, number]) => [Number(number), word?.toLowerCase()],
    );
  expect(words("State")).toEqual([...STATES.entries()]);
  expect(words("Mode")).toEqual([...MODES.entries()]);
});

test("an unknown code is a loss, and no code is no reason", () => {
  expect(whyOf(1006)).toBe("lost");
  expect(whyOf(0)).toBeUndefined();
  expect(whyOf(4409)).toBe("replaced");
});
