import { describe, expect, test, vi } from "vitest";
import type { RoomView } from "../src/types.js";
import { open, openLive, settled } from "./fake/client.js";
import { FakeEngine } from "./fake/engine.js";

/** Before the first test the code of rooms is still to be loaded: as in a page that has just begun. */
describe("the first room of a page", () => {
  test("is there at once, and joined when its code has come", async () => {
    const { client, engine } = await openLive();
    const room = client.room("page");
    const { view } = room;
    const told: RoomView[] = [];
    const never = vi.fn();
    room.subscribe(it => told.push(it));
    room.subscribe(never)();
    expect(view).toEqual({ room: "page", members: [], count: 0, whole: false, known: false, stale: true });
    engine.calls.length = 0;
    await vi.waitUntil(() => engine.calls.length > 0);
    expect(engine.calls).toEqual(["join page"]);
    expect(client.room("page")).toBe(room);
    engine.gather("page", { ana: "online" });
    await settled();
    expect(room.members).toEqual([{ user: "ana", state: "online" }]);
    expect(told.at(-1)).toBe(room.view);
    expect(never).not.toHaveBeenCalled();
  });
});

describe("a room", () => {
  test("is joined with the first listener and left with the last", async () => {
    const { client, engine } = await openLive();
    const room = client.room("page");
    expect(client.room("page")).toBe(room);
    expect(room.view).toEqual({ room: "page", members: [], count: 0, whole: false, known: false, stale: false });
    engine.calls.length = 0;
    const stops = [room.subscribe(() => {}), room.subscribe(() => {})];
    expect(engine.calls).toEqual(["join page"]);
    for (const stop of [...stops, ...stops]) stop();
    expect(engine.calls).toEqual(["join page", "leave page"]);
    expect(room.view.known).toBe(false);
  });

  test("tells who is there, once for all that came together", async () => {
    const { client, engine } = await openLive();
    const told: RoomView[] = [];
    client.room("page").subscribe(view => told.push(view));
    await settled();
    told.length = 0;
    engine.gather("page", { ana: "online" });
    engine.gather("page", { ana: "online", bo: "away" });
    await settled();
    expect(told).toHaveLength(1);
    expect(client.room("page").members).toEqual([
      { user: "ana", state: "online" },
      { user: "bo", state: "away" },
    ]);
    expect(told[0]).toMatchObject({ count: 2, whole: true, known: true });
    // What is the same is the same object, and nothing new is not told.
    const before = client.room("page").view;
    engine.gather("page", { ana: "online", bo: "away" });
    await settled();
    expect(client.room("page").view).toBe(before);
    expect(told).toHaveLength(1);
    engine.gather("page", { ana: "online", bo: "dnd" });
    await settled();
    expect(client.room("page").members[0]).toBe(before.members[0]);
  });

  test("that is large tells about how many, and some of them", async () => {
    const { client, engine } = await openLive();
    client.room("hall").subscribe(() => {});
    engine.gather("hall", { ana: "online" }, 1200);
    await settled();
    expect(client.room("hall").view).toMatchObject({ count: 1200, whole: false, known: true });
  });

  test("asked for before the wasm client is there is joined when it is", async () => {
    const client = open();
    client.room("page").subscribe(() => {});
    await settled();
    expect(FakeEngine.last.calls).toEqual(["join page", "connect"]);
  });

  test("goes stale with the link, and keeps what it showed", async () => {
    const { client, engine } = await openLive();
    const listener = vi.fn();
    client.room("page").subscribe(listener);
    engine.gather("page", { ana: "online" });
    await settled();
    listener.mockClear();
    engine.lose();
    await settled();
    expect(listener).toHaveBeenCalledTimes(1);
    expect(client.room("page").view).toMatchObject({ stale: true, known: true, count: 1 });
  });

  test("a listener that throws keeps nothing from the others", async () => {
    const { client, engine } = await openLive();
    const listener = vi.fn();
    const thrown = vi.fn();
    vi.stubGlobal("reportError", thrown);
    client.room("page").subscribe(() => {
      throw new Error("mine");
    });
    client.room("page").subscribe(listener);
    engine.gather("page", { ana: "online" });
    await settled();
    expect(listener).toHaveBeenCalled();
    expect(thrown).toHaveBeenCalled();
  });

  test("needs an id that is a text", async () => {
    const { client } = await openLive();
    expect(() => client.room(42 as unknown as string)).toThrow(/room\(id\)/);
  });
});
