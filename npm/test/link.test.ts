import { describe, expect, test, vi } from "vitest";
import * as PAGE from "../src/page-events.js";
import { GreendotError } from "../src/errors.js";
import type { Link, Presence } from "../src/types.js";
import { open, openLive, settled } from "./fake/client.js";
import { FakeEngine } from "./fake/engine.js";

function links(client: Presence): string[] {
  const all: string[] = [];
  client.onLink(link => all.push(`${link.state}${link.stale ? " stale" : ""}${link.why ? ` ${link.why}` : ""}`));
  return all;
}

describe("the link", () => {
  test("is told step by step, each with what belongs to it", async () => {
    const client = open();
    expect(client.link).toEqual({ state: "connecting", stale: true });
    const all = links(client);
    await settled();
    FakeEngine.last.live();
    await settled();
    FakeEngine.last.lose(1_500, 4001);
    expect(client.link).toEqual({ state: "waiting", stale: true, why: "drain", retryMs: 1_500 });
    FakeEngine.last.link("connecting");
    FakeEngine.last.live();
    await settled();
    expect(all).toEqual(["connecting stale", "live", "waiting stale drain", "connecting stale", "live"]);
  });

  test("is one frozen object while nothing changed", async () => {
    const { client, engine } = await openLive();
    const { link } = client;
    expect(Object.isFrozen(link)).toBe(true);
    engine.live();
    expect(client.link).toBe(link);
  });

  test("is live and stale where the server says that its word may be old", async () => {
    const { client, engine } = await openLive();
    engine.host.stale(true);
    expect(client.link).toEqual({ state: "live", stale: true });
    expect(client.get("ana").stale).toBe(true);
  });

  test("is never fresh unless live", async () => {
    const client = open();
    await settled();
    FakeEngine.last.host.stale(false);
    expect(client.link.stale).toBe(true);
    FakeEngine.last.link("live");
    expect(client.link.stale).toBe(false);
    FakeEngine.last.link("waiting");
    expect(client.link.stale).toBe(true);
  });

  test("stops, and says why by name", async () => {
    const { client, engine } = await openLive({ session: "kitchen-screen" });
    engine.stop(4409);
    expect(client.link).toEqual({ state: "stopped", stale: true, why: "replaced" });
    engine.stop(4410);
    expect(client.link.why).toBe("revoked");
  });

  test("is lost where the code is not the server's word", async () => {
    const { client, engine } = await openLive();
    engine.lose(10, 1006);
    expect(client.link.why).toBe("lost");
  });

  test("keeps its order when a listener closes and connects", async () => {
    const { client, engine } = await openLive();
    const first: string[] = [];
    client.onLink(link => {
      first.push(link.state);
      if (link.state === "waiting") {
        client.close();
        client.connect();
      }
    });
    const second = links(client);
    engine.lose();
    await settled();
    expect(first).toEqual(["waiting", "closed", "connecting"]);
    expect(second).toEqual(["waiting stale", "closed stale", "connecting stale"]);
  });
});

describe("connect, close and sign out", () => {
  test("close is closing, sign out is a goodbye, and connect comes back", async () => {
    const { client, engine } = await openLive();
    engine.calls.length = 0;
    client.close();
    expect(client.link).toEqual({ state: "closed", stale: true });
    client.connect();
    client.signOut();
    client.connect();
    expect(engine.calls).toEqual(["disconnect", "connect", "signOut", "connect"]);
    expect(FakeEngine.all).toEqual([engine]);
  });

  test("closing twice is closing once", async () => {
    const { client, engine } = await openLive();
    client.close();
    client.close();
    client.signOut();
    expect(engine.calls.filter(call => call === "disconnect" || call === "signOut")).toEqual(["disconnect"]);
  });

  test("what is watched is kept", async () => {
    const { client, engine } = await openLive();
    client.watch("ana", () => {});
    client.close();
    client.connect();
    expect(engine.watched).toEqual(["ana"]);
  });

  test("closed before the wasm client is there: it never dials", async () => {
    const client = open();
    client.close();
    await settled();
    expect(FakeEngine.all).toEqual([]);
    expect(client.link.state).toBe("closed");
  });

  test("closed and opened again before it is there: one client, one dial", async () => {
    const client = open();
    client.close();
    client.connect();
    await settled();
    expect(FakeEngine.all).toHaveLength(1);
    expect(FakeEngine.last.calls.filter(call => call === "connect")).toHaveLength(1);
  });

  test("told of nothing after the end", async () => {
    const { client, engine } = await openLive();
    const heard = vi.fn<(link: Link) => void>();
    const stop = client.onLink(heard);
    stop();
    engine.lose();
    await settled();
    expect(heard).not.toHaveBeenCalled();
  });
});

describe("a wasm file that does not load", () => {
  const broken = new GreendotError("load_failed", "the server answered 404", "/client_bg.wasm", "Serve it.");

  test("stops the link, says why, and is tried again at the next connect", async () => {
    const load = vi.fn().mockRejectedValueOnce(broken).mockResolvedValue(FakeEngine);
    const client = open({}, load);
    const errors: GreendotError[] = [];
    client.onError(error => errors.push(error));
    await settled();
    expect(client.link).toEqual({ state: "stopped", stale: true, why: "load_failed" });
    expect(errors).toEqual([broken]);
    client.connect();
    await settled();
    FakeEngine.last.live();
    expect(client.link.state).toBe("live");
    expect(load).toHaveBeenCalledTimes(2);
  });

  test("is told on the console where nobody listens", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    open({}, async () => Promise.reject(broken));
    await settled();
    expect(logged).toHaveBeenCalledExactlyOnceWith(broken);
  });

  test("leaves a closed client closed", async () => {
    const client = open({}, async () => Promise.reject(broken));
    client.onError(() => {});
    client.close();
    await settled();
    expect(client.link.state).toBe("closed");
  });

  test("is tried again when the network comes back", async () => {
    vi.stubGlobal("addEventListener", (type: string, listener: () => void) => handlers.set(type, listener));
    const handlers = new Map<string, () => void>();
    const load = vi.fn().mockRejectedValueOnce(broken).mockResolvedValue(FakeEngine);
    const client = open({}, load);
    client.onError(() => {});
    await settled();
    handlers.get("online")?.();
    await settled();
    expect(FakeEngine.last.calls).toContain("connect");
    handlers.get("online")?.();
    expect(FakeEngine.last.calls.at(-1)).toBe(`page ${PAGE.online}`);
  });
});

describe("errors of the server", () => {
  test("go to the listeners, by name", async () => {
    const { client, engine } = await openLive();
    const errors: GreendotError[] = [];
    client.onError(error => errors.push(error));
    engine.host.error(2, 0, "more than 1000 users are watched");
    engine.host.error(99, 0, "of a newer server");
    await settled();
    expect(errors.map(error => error.code)).toEqual(["too_many_watches", "other"]);
    expect(errors[0]?.message).toContain("more than 1000 users");
    expect(errors[0]).toBeInstanceOf(GreendotError);
  });

  test("of too many watches make one line in the console, not one each", async () => {
    const { engine } = await openLive();
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    for (let row = 0; row < 50; row++) engine.host.error(2, row, "a connection may watch 1000 users");
    await settled();
    expect(log).toHaveBeenCalledOnce();
    log.mockRestore();
  });

  test("name the user they are about", async () => {
    const { client, engine } = await openLive();
    const errors: GreendotError[] = [];
    client.onError(error => errors.push(error));
    client.watch("ana", () => {});
    engine.host.error(2, 0, "a connection may watch 1000 users");
    await settled();
    expect(errors[0]?.culprit).toBe('the user "ana"');
  });
});
