import { describe, expect, test, vi } from "vitest";
import type { Mode } from "../src/types.js";
import { open, openLive, settled } from "./fake/client.js";
import { FakeEngine } from "./fake/engine.js";

describe("the own mode", () => {
  test("goes to the wasm client and is known at once", async () => {
    const { client, engine } = await openLive();
    const heard: Mode[] = [];
    client.onMode(mode => heard.push(mode));
    client.setMode("dnd");
    expect(client.mode).toBe("dnd");
    expect(engine.calls.at(-1)).toBe("setMode dnd");
    engine.mode("dnd");
    await settled();
    expect(heard).toEqual(["dnd"]);
  });

  test("follows the other devices", async () => {
    const { client, engine } = await openLive();
    const heard: Mode[] = [];
    client.onMode(mode => heard.push(mode));
    engine.mode("away");
    await settled();
    expect(client.mode).toBe("away");
    expect(heard).toEqual(["away"]);
  });

  test("chosen before the wasm client is there comes before the dial", async () => {
    const client = open();
    client.setMode("invisible");
    client.setNote("in hiding");
    await settled();
    const { calls } = FakeEngine.last;
    expect(calls).toEqual(["setMode invisible", "setNote in hiding", "connect"]);
  });

  test("not chosen here is not told", async () => {
    open();
    await settled();
    expect(FakeEngine.last.calls).toEqual(["connect"]);
  });

  test("that does not exist is refused where it was asked for", async () => {
    const { client } = await openLive();
    expect(() => client.setMode("asleep" as Mode)).toThrow(/"asleep" is no mode.*auto, away, busy, dnd, invisible/);
    expect(client.mode).toBe("auto");
  });

  test("is told to nobody who has stopped listening", async () => {
    const { client } = await openLive();
    const heard = vi.fn();
    client.onMode(heard)();
    client.setMode("busy");
    await settled();
    expect(heard).not.toHaveBeenCalled();
  });
});
