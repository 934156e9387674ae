import { describe, expect, test, vi } from "vitest";
import { openLive, settled } from "./fake/client.js";

describe("a view", () => {
  test("says what is known, state by state", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
    const { client, engine } = await openLive();
    client.watch(["ana", "bo", "cy", "dee", "eli"], () => {});
    engine.arrive({
      ana: { state: "online", note: "at lunch" },
      bo: { state: "offline", agoMs: 60_000 },
      cy: "offline",
      dee: "dnd",
    });
    expect(client.get("ana")).toEqual({ user: "ana", state: "online", stale: false, note: "at lunch" });
    expect(client.get("bo")).toEqual({
      user: "bo",
      state: "offline",
      stale: false,
      lastSeen: { at: new Date(940_000), agoMs: 60_000 },
    });
    expect(client.get("cy")).toEqual({ user: "cy", state: "offline", stale: false });
    expect(client.get("dee")).toEqual({ user: "dee", state: "dnd", stale: false });
    expect(client.get("eli")).toEqual({ user: "eli", state: "unknown", stale: false });
    vi.useRealTimers();
  });

  test("says in words what is told in words only", async () => {
    const { client, engine } = await openLive();
    client.watch(["ana", "bo"], () => {});
    const days = (count: number) => count * 86_400_000;
    engine.arrive({ ana: { state: "offline", agoMs: -2 - days(3) - 50 }, bo: { state: "offline", agoMs: -2 - days(7) } });
    expect(client.get("ana").lastSeen).toMatchObject({ coarse: "recently", agoMs: days(3) + 50 });
    expect(client.get("bo").lastSeen).toMatchObject({ coarse: "this week", agoMs: days(7) });
    const before = client.get("bo");
    engine.arrive({ bo: { state: "offline", agoMs: days(7) } });
    expect(client.get("bo")).not.toBe(before);
    expect(client.get("bo").lastSeen?.coarse).toBeUndefined();
  });

  test("is the same object while nothing changed", async () => {
    const { client, engine } = await openLive();
    client.watch(["ana", "bo"], () => {});
    engine.arrive({ ana: "online", bo: { state: "offline", agoMs: 5_000 } });
    const ana = client.get("ana");
    const bo = client.get("bo");
    expect(client.get("ana")).toBe(ana);
    engine.arrive({ ana: "online", bo: { state: "offline", agoMs: 5_100 } });
    expect(client.get("ana")).toBe(ana);
    expect(client.get("bo")).toBe(bo);
    engine.arrive({ ana: "away" });
    expect(client.get("ana")).not.toBe(ana);
    expect(client.get("bo")).toBe(bo);
    expect(ana.state).toBe("online");
  });

  test("of somebody unwatched is one object too, before and after the first watch", async () => {
    const { client } = await openLive();
    const before = client.get("ana");
    expect(client.get("ana")).toBe(before);
    const stop = client.watch("ana", () => {});
    expect(client.get("ana")).toBe(before);
    stop();
    expect(client.get("ana")).toBe(before);
  });

  test("keeps the objects of strangers bounded", async () => {
    const { client } = await openLive();
    const first = client.get("user 0");
    for (let i = 1; i <= 1_000; i++) client.get(`user ${i}`);
    expect(client.get("user 0")).not.toBe(first);
    expect(client.get("user 0")).toEqual(first);
  });

  test("cannot be harmed by who is given it", async () => {
    const { client, engine } = await openLive();
    client.watch("bo", () => {});
    engine.arrive({ bo: { state: "offline", agoMs: 5_000 } });
    const bo = client.get("bo");
    if (bo.state !== "offline" || bo.lastSeen === undefined) throw new Error("bo was seen and is gone");
    const { lastSeen } = bo;
    expect(Object.isFrozen(bo) && Object.isFrozen(lastSeen)).toBe(true);
    const at = lastSeen.at.getTime();
    lastSeen.at.setTime(0);
    expect(lastSeen.at.getTime()).toBe(at);
  });

  test("goes stale with the link, and keeps its words", async () => {
    const { client, engine } = await openLive();
    client.watch(["ana", "bo"], () => {});
    engine.arrive({ ana: { state: "busy", note: "call" }, bo: { state: "offline", agoMs: 5_000 } });
    const fresh = client.get("bo");
    engine.lose();
    expect(client.get("ana")).toEqual({ user: "ana", state: "busy", stale: true, note: "call" });
    const stale = client.get("bo");
    expect(stale).toMatchObject({ state: "offline", stale: true });
    expect(client.get("zoe")).toEqual({ user: "zoe", state: "unknown", stale: true });
    engine.live();
    expect(client.get("bo")).toMatchObject({ state: "offline", stale: false });
    if (fresh.state !== "offline" || stale.state !== "offline") throw new Error("bo is offline all along");
    expect(stale.lastSeen).toBe(fresh.lastSeen);
    await settled();
  });

  test("is stale from the start", async () => {
    const { client } = await openLive();
    client.close();
    expect(client.get("ana")).toEqual({ user: "ana", state: "unknown", stale: true });
  });

  test("of a user named like an object's own property is a view like any other", async () => {
    const { client, engine } = await openLive();
    client.watch(["__proto__", "constructor"], () => {});
    engine.arrive(Object.fromEntries([["constructor", "online"]]));
    expect(client.get("constructor")).toMatchObject({ state: "online" });
    expect(client.get("__proto__")).toMatchObject({ user: "__proto__", state: "unknown" });
  });
});
