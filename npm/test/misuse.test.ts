import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Presence } from "../src/types.js";
import { open, settled } from "./fake/client.js";

const warn = vi.fn<(text: string) => void>();

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("DEV", true);
  vi.spyOn(console, "warn").mockImplementation(warn);
  warn.mockClear();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Each at an address of its own: what was warned of once is remembered. */
let number = 0;
const fresh = (url = `wss://chat${number++}.example/presence`): Presence => open({ url });

describe("in a development build", () => {
  test("a second client to the same server is pointed out, with what to do", () => {
    fresh("wss://a.example/");
    expect(warn).not.toHaveBeenCalled();
    fresh("wss://a.example/");
    expect(warn.mock.calls[0]?.[0]).toMatch(/connect\(\) was called again for wss:\/\/a\.example\/.*greendot\/hot/);
  });

  test("one after a closed one is none of those, nor is one to another server", async () => {
    const first = fresh("wss://b.example/");
    await settled();
    first.close();
    fresh("wss://b.example/");
    fresh("wss://c.example/");
    expect(warn).not.toHaveBeenCalled();
  });

  test("whoever asks about somebody and then watches is in the right", () => {
    const client = fresh();
    client.get("ana");
    client.watch("ana", () => {});
    vi.advanceTimersByTime(10_000);
    expect(warn).not.toHaveBeenCalled();
  });

  test("whoever asks and never watches is told, once", () => {
    const client = fresh();
    client.get("ana");
    client.get("bo");
    vi.advanceTimersByTime(10_000);
    client.get("cy");
    vi.advanceTimersByTime(10_000);
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/get\("ana"\) was asked, and nobody watches "ana"/)]]);
  });
});

test("in any other build nothing is said", () => {
  vi.stubGlobal("DEV", false);
  fresh("wss://d.example/");
  fresh("wss://d.example/").get("ana");
  vi.advanceTimersByTime(10_000);
  expect(warn).not.toHaveBeenCalled();
});
