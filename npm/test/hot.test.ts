import { expect, test, vi } from "vitest";
import { kept } from "../src/hot.js";
import { fakePresence } from "../src/testing.js";

test("what was made once is there when the code runs again, in this file or in a fresh copy of it", async () => {
  const first = kept(() => fakePresence());
  const again = vi.fn(() => fakePresence());
  expect(kept(again)).toBe(first);
  vi.resetModules();
  const fresh = await import("../src/hot.js");
  expect(fresh.kept).not.toBe(kept);
  expect(fresh.kept(again)).toBe(first);
  expect(again).not.toHaveBeenCalled();
  expect(kept(() => fakePresence(), "another")).not.toBe(first);
});
