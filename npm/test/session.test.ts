// @vitest-environment happy-dom
import { beforeEach, describe, expect, test, vi } from "vitest";
import { open, openLive, settled } from "./fake/client.js";
import { FakeEngine } from "./fake/engine.js";

beforeEach(() => sessionStorage.clear());

async function sessionOf(options = {}): Promise<string> {
  open(options);
  await settled();
  return FakeEngine.last.session;
}

describe("the session id", () => {
  test("is random, long enough and within the limit", async () => {
    const id = await sessionOf();
    expect(id).toMatch(/^[0-9a-z]{28}$/);
  });

  test("is kept over a reload", async () => {
    const { client, engine } = await openLive();
    client.close();
    expect(await sessionOf()).toBe(engine.session);
  });

  test("is another one for a second client in the same page, and the first keeps its own", async () => {
    const first = await sessionOf();
    const second = await sessionOf();
    expect(second).not.toBe(first);
    expect(sessionStorage.getItem("greendot.session")).toBe(first);
  });

  test("is the app's own where it gives one", async () => {
    expect(await sessionOf({ session: "kitchen-screen" })).toBe("kitchen-screen");
    expect(sessionStorage.length).toBe(0);
  });

  test.each(["getItem", "setItem"] as const)("does without storage where %s is forbidden", async method => {
    vi.spyOn(Storage.prototype, method).mockImplementation(() => {
      throw new DOMException("The operation is insecure.", "SecurityError");
    });
    expect(await sessionOf()).toMatch(/^[0-9a-z]{28}$/);
  });

  test("stays the client's when it connects again", async () => {
    const { client, engine } = await openLive();
    client.close();
    client.connect();
    expect(FakeEngine.last).toBe(engine);
  });

  test("is given up where another client has it by now: both stay connected", async () => {
    const { client, engine } = await openLive();
    client.watch("ana", () => {});
    client.setMode("busy");
    client.watch("bo", () => {})();
    client.close();
    expect(await sessionOf()).toBe(engine.session);
    client.connect();
    await settled();
    const anew = FakeEngine.last;
    expect(anew.session).not.toBe(engine.session);
    expect(anew.watched).toEqual(["ana"]);
    expect(anew.calls).toContain("setMode busy");
    anew.live();
    anew.arrive({ ana: "online" });
    expect(client.get("ana").state).toBe("online");
  });
});
