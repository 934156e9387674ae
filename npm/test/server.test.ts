import { describe, expect, test, vi } from "vitest";
import { settled } from "./fake/client.js";
import { FakeEngine } from "./fake/engine.js";

/** Things that a server must not be asked for. */
const BROWSER_ONLY = ["window", "document", "WebSocket", "sessionStorage", "localStorage", "location"];

describe.each(["../src/index.js", "../src/index.node.js"])("on a server, %s", entry => {
  test("connects to nothing and touches nothing of a browser", async () => {
    for (const name of BROWSER_ONLY) expect(name in globalThis, name).toBe(false);
    const fetched = vi.fn();
    vi.stubGlobal("fetch", fetched);
    const timers = vi.spyOn(globalThis, "setTimeout");
    const token = vi.fn(() => "token");
    const { connect } = (await import(entry)) as typeof import("../src/index.js");

    const client = connect({ url: "/presence", token });
    const listener = vi.fn();
    const stop = client.watch(["ana"], listener);
    client.setMode("busy");
    client.setNote("hello");
    client.connect();
    await settled();

    expect(client.link).toEqual({ state: "closed", stale: true });
    expect(client.get("ana")).toEqual({ user: "ana", state: "unknown", stale: true });
    stop();
    client.close();
    client.signOut();
    for (const idle of [fetched, token, listener, timers]) expect(idle).not.toHaveBeenCalled();
    expect(FakeEngine.all).toEqual([]);
  });
});

test("a bot in Node may ask to connect all the same", async () => {
  const { connector } = await import("../src/connect.js");
  const client = connector(async () => FakeEngine)({ url: "wss://chat.example/p", token: () => "t", headless: true });
  await settled();
  expect(FakeEngine.last.calls).toEqual(["connect"]);
  client.close();
});

test("a bot where there is no WebSocket is told so, and what to do", async () => {
  const { connect } = await import("../src/index.node.js");
  vi.stubGlobal("WebSocket", undefined);
  const bot = connect({ url: "wss://chat.example/p", token: () => "t", headless: true });
  const errors: unknown[] = [];
  bot.onError(error => errors.push(error));
  await settled();
  expect(errors).toMatchObject([{ code: "no_websocket", next: expect.stringContaining("Node 22") }]);
  expect(bot.link).toMatchObject({ state: "stopped", why: "load_failed" });
  bot.close();
});
