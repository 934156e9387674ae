// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

type Fake = typeof import("./fake/client.js") & typeof import("./fake/engine.js");

/** The close code of a session that is open elsewhere. */
const REPLACED = 4409;

/** The modules of the page that is open now. */
let page: Fake;

/** A page is loaded: nothing of an earlier one is left but the storage. */
async function load(): Promise<void> {
  vi.resetModules();
  page = { ...(await import("./fake/client.js")), ...(await import("./fake/engine.js")) };
}

function leave(): void {
  window.dispatchEvent(new Event("pagehide"));
}

beforeEach(async () => {
  sessionStorage.clear();
  await load();
});
afterEach(() => vi.restoreAllMocks());

async function sessionOf(options = {}): Promise<string> {
  page.open(options);
  await page.settled();
  return page.FakeEngine.last.session;
}

describe("the mode", () => {
  /** What the newest client was told, but for what happens to the page. */
  const said = () => page.FakeEngine.last.calls.filter(call => !call.startsWith("page"));

  test("that the server told is remembered by the next page of the tab, before it dials", async () => {
    page.open();
    await page.settled();
    page.FakeEngine.last.mode("invisible", 7);
    await load();
    page.open();
    await page.settled();
    expect(said()).toEqual(["remember invisible 7", "connect"]);
  });

  test("that no server has told is not", async () => {
    page.open();
    await page.settled();
    page.FakeEngine.last.mode("invisible", 0);
    await load();
    page.open();
    await page.settled();
    expect(said()).toEqual(["connect"]);
  });
});

describe("the session id", () => {
  test("is random, long enough and within the limit", async () => {
    expect(await sessionOf()).toMatch(/^[0-9a-z]{28}$/);
  });

  test("is kept over a reload", async () => {
    const before = await sessionOf();
    leave();
    await load();
    expect(await sessionOf()).toBe(before);
  });

  test("is kept over two reloads, the first of which came to no client", async () => {
    const before = await sessionOf();
    leave();
    await load();
    await load();
    expect(await sessionOf()).toBe(before);
  });

  test("is another one in a duplicate, whose storage is a copy; each is then kept over reloads", async () => {
    const first = await sessionOf();
    const copy = sessionStorage.getItem("greendot.session");
    await load();
    const second = await sessionOf();
    expect(second).not.toBe(first);
    leave();
    await load();
    expect(await sessionOf()).toBe(second);
    sessionStorage.setItem("greendot.session", `${copy}!`);
    await load();
    expect(await sessionOf()).toBe(first);
  });

  test("is in use again when the page comes back from the cache", async () => {
    const first = await sessionOf();
    leave();
    window.dispatchEvent(Object.assign(new Event("pageshow"), { persisted: true }));
    await load();
    expect(await sessionOf()).not.toBe(first);
  });

  test("is another one for a second client in the same page, and the first keeps its own", async () => {
    const first = await sessionOf();
    const second = await sessionOf();
    expect(second).not.toBe(first);
    leave();
    await load();
    expect(await sessionOf()).toBe(first);
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
    const { client, engine } = await page.openLive();
    client.close();
    client.connect();
    expect(page.FakeEngine.last).toBe(engine);
  });

  test("is given up where another client has it by now: both stay connected", async () => {
    const { client, engine } = await page.openLive();
    client.watch("ana", () => {});
    client.setMode("busy");
    client.watch("bo", () => {})();
    client.close();
    expect(await sessionOf()).toBe(engine.session);
    client.connect();
    await page.settled();
    const anew = page.FakeEngine.last;
    expect(anew.session).not.toBe(engine.session);
    expect(anew.watched).toEqual(["ana"]);
    expect(anew.calls).toContain("setMode busy");
    anew.live();
    anew.arrive({ ana: "online" });
    expect(client.get("ana").state).toBe("online");
  });
});

describe("replaced by another page that has the id after all", () => {
  test("a page goes on under a fresh id, once", async () => {
    const { client, engine } = await page.openLive();
    client.watch("ana", () => {});
    engine.stop(REPLACED);
    await page.settled();
    const anew = page.FakeEngine.last;
    expect(anew.session).not.toBe(engine.session);
    expect(anew.watched).toEqual(["ana"]);
    anew.live();
    expect(client.link.state).toBe("live");
    anew.stop(REPLACED);
    await page.settled();
    expect(page.FakeEngine.last).toBe(anew);
    expect(client.link).toMatchObject({ state: "stopped", why: "replaced" });
  });

  test("a page keeps an id that the app chose, and stops", async () => {
    const { client, engine } = await page.openLive({ session: "kitchen-screen" });
    engine.stop(REPLACED);
    await page.settled();
    expect(page.FakeEngine.last).toBe(engine);
    expect(client.link).toMatchObject({ state: "stopped", why: "replaced" });
  });
});
