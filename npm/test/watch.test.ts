import { describe, expect, test, vi } from "vitest";
import type { Presence, View } from "../src/types.js";
import { open, openLive, settled } from "./fake/client.js";
import { FakeEngine } from "./fake/engine.js";

/** Watches and keeps what it was told: one string a call. */
function told(client: Presence, users: string | string[]): { calls: string[]; stop: () => void } {
  const calls: string[] = [];
  const stop = client.watch(users, changes => {
    calls.push(changes.map(view => `${view.user} ${view.state}`).join(", "));
  });
  return { calls, stop };
}

describe("watch", () => {
  test("tells what came together in one call", async () => {
    const { client, engine } = await openLive();
    const { calls } = told(client, ["ana", "bo", "cy"]);
    engine.arrive({ ana: "online", bo: "away" });
    await settled();
    engine.arrive({ cy: "offline" });
    await settled();
    expect(calls).toEqual(["ana online, bo away", "cy offline"]);
  });

  test("tells each listener of its own users only", async () => {
    const { client, engine } = await openLive();
    const first = told(client, ["ana", "bo"]);
    const second = told(client, "bo");
    engine.arrive({ ana: "online" });
    engine.arrive({ bo: "online" });
    await settled();
    expect(first.calls).toEqual(["ana online, bo online"]);
    expect(second.calls).toEqual(["bo online"]);
  });

  test("tells what is known already once, and never inside the call", async () => {
    const { client, engine } = await openLive();
    told(client, "ana");
    engine.arrive({ ana: "online" });
    await settled();
    const late = told(client, "ana");
    expect(late.calls).toEqual([]);
    await settled();
    expect(late.calls).toEqual(["ana online"]);
  });

  test("counts a name that is given twice once", async () => {
    const { client, engine } = await openLive();
    const { calls, stop } = told(client, ["ana", "ana"]);
    engine.arrive({ ana: "online" });
    await settled();
    expect(calls).toEqual(["ana online"]);
    stop();
    expect(engine.watched).toEqual([]);
  });

  test("says nothing after its end, not even what was on its way", async () => {
    const { client, engine } = await openLive();
    const { calls, stop } = told(client, "ana");
    engine.arrive({ ana: "online" });
    stop();
    engine.arrive({ ana: "away" });
    await settled();
    expect(calls).toEqual([]);
  });

  test("ended twice takes nothing from the other part", async () => {
    const { client, engine } = await openLive();
    const first = told(client, "ana");
    const second = told(client, "ana");
    first.stop();
    first.stop();
    expect(engine.watched).toEqual(["ana"]);
    engine.arrive({ ana: "online" });
    await settled();
    expect(second.calls).toEqual(["ana online"]);
    second.stop();
    expect(engine.watched).toEqual([]);
    expect(engine.parts).toBe(0);
  });

  test("hears of no stale views: only states count as changes", async () => {
    const { client, engine } = await openLive();
    const { calls } = told(client, "ana");
    engine.arrive({ ana: "online" });
    engine.lose();
    await settled();
    engine.live();
    await settled();
    expect(calls).toEqual(["ana online"]);
  });

  test("gives lists that nobody can write to", async () => {
    const { client, engine } = await openLive();
    const spoil = vi.fn((changes: readonly View[]) => {
      (changes as View[]).length = 0;
    });
    client.watch("ana", spoil);
    const { calls } = told(client, "ana");
    vi.spyOn(console, "error").mockImplementation(() => {});
    engine.arrive({ ana: "online" });
    await settled();
    expect(spoil).toHaveBeenCalledOnce();
    expect(calls).toEqual(["ana online"]);
  });
});

describe("a listener that throws", () => {
  test("harms nobody, is told again, and is reported", async () => {
    const { client, engine } = await openLive();
    const reported = vi.spyOn(console, "error").mockImplementation(() => {});
    const bad = vi.fn(() => {
      throw new Error("the app's own");
    });
    client.watch("ana", bad);
    const { calls } = told(client, "ana");
    engine.arrive({ ana: "online" });
    await settled();
    engine.arrive({ ana: "away" });
    await settled();
    expect(calls).toEqual(["ana online", "ana away"]);
    expect(bad).toHaveBeenCalledTimes(2);
    expect(reported).toHaveBeenCalledTimes(2);
    expect(reported.mock.calls[0]).toEqual([new Error("the app's own")]);
  });

  test("is reported the browser's way where there is one", async () => {
    const reported = vi.fn();
    vi.stubGlobal("reportError", reported);
    const { client, engine } = await openLive();
    const error = new Error("the app's own");
    client.onLink(() => {
      throw error;
    });
    engine.lose();
    await settled();
    expect(reported).toHaveBeenCalledExactlyOnceWith(error);
  });
});

describe("inside a listener", () => {
  test("the app may read, watch and stop", async () => {
    const { client, engine } = await openLive();
    const seen: string[] = [];
    const other = told(client, "ana");
    const stop = client.watch("ana", () => {
      seen.push(client.get("ana").state);
      client.watch("bo", changes => seen.push(...changes.map(view => view.user)));
      other.stop();
      stop();
    });
    engine.arrive({ ana: "online" });
    await settled();
    expect(seen).toEqual(["online"]);
    engine.arrive({ bo: "away", ana: "away" });
    await settled();
    expect(seen).toEqual(["online", "bo"]);
    expect(other.calls).toEqual(["ana online"]);
  });

  test("ending a later listener keeps it from being called", async () => {
    const { client, engine } = await openLive();
    let stopLater = () => {};
    client.watch("ana", () => stopLater());
    const later = told(client, "ana");
    stopLater = later.stop;
    engine.arrive({ ana: "online" });
    await settled();
    expect(later.calls).toEqual([]);
  });
});

describe("a number", () => {
  test("that stands for somebody else by now makes no mix-up", async () => {
    const { client, engine } = await openLive();
    const ana = told(client, "ana");
    engine.arrive({ ana: "online" });
    ana.stop();
    const bo = told(client, "bo");
    engine.arrive({ bo: "away" });
    await settled();
    expect(ana.calls).toEqual([]);
    expect(bo.calls).toEqual(["bo away"]);
    expect(client.get("ana").state).toBe("unknown");
  });
});

describe("before the wasm client is there", () => {
  test("watches wait and are told in one go", async () => {
    const client = open();
    const kept = told(client, ["ana", "bo"]);
    told(client, "cy").stop();
    await settled();
    const engine = FakeEngine.last;
    expect(engine.watched).toEqual(["ana", "bo"]);
    expect(engine.calls.at(-1)).toBe("connect");
    engine.live();
    engine.arrive({ ana: "online" });
    await settled();
    expect(kept.calls).toEqual(["ana online"]);
  });

  test("everybody is unknown and stale", () => {
    const client = open();
    client.watch("ana", () => {});
    expect(client.get("ana")).toEqual({ user: "ana", state: "unknown", stale: true });
  });
});

describe("subscribe", () => {
  test("hears of its own row and of stale views", async () => {
    const { client, engine } = await openLive();
    const listener = vi.fn();
    client.subscribe("ana", listener);
    client.subscribe("bo", () => {});
    engine.arrive({ ana: "online" });
    await settled();
    expect(listener).toHaveBeenCalledTimes(1);
    engine.arrive({ bo: "online" });
    await settled();
    expect(listener).toHaveBeenCalledTimes(1);
    engine.lose();
    await settled();
    expect(listener).toHaveBeenCalledTimes(2);
    expect(client.get("ana").stale).toBe(true);
  });
});

test("a call that cannot be meant is refused where it is made", () => {
  const client = open();
  const watch = client.watch.bind(client) as (...args: unknown[]) => unknown;
  for (const args of [[5, () => {}], [[5], () => {}], ["bo"], ["bo", "listener"], []]) {
    expect(() => watch(...args)).toThrow(/bad_call; the call of watch\)\. Give names and a function/);
  }
});
