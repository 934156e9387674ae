// What happens to pages: hidden, throttled, frozen, cached, duplicated, offline, killed. Everybody else must see the truth.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { Browser, GRACE, Server, TTL } from "../world.mjs";
import { Proxy, silentDevice } from "./network.mjs";
import { until } from "./tab.mjs";

/** Plays them all in a browser that `start` starts. */
export function play(start) {
  let server;
  /** Ana's browser, to which things happen. */
  let life;
  /** Everybody else's. */
  let others;
  let bo;

  before(async () => {
    [life, others] = await Promise.all([start(), Browser.start()]);
  });
  after(async () => {
    await Promise.all([life?.close(), others?.close()]);
  });
  beforeEach(async () => {
    server = await Server.start();
    bo = await others.person(server, "bo");
  });
  afterEach(async () => {
    await Promise.all([life.clear(), others.clear()]);
    await server.kill();
  });

  const ana = () => life.tab(server.port, "ana");

  /** Waits for a whole ttl by the server's clock: a device of somebody else goes silent, and is given up. */
  async function ttlIsOver() {
    const silent = await silentDevice(server.port, "eli");
    await bo.sees("eli", "online");
    await bo.sees("eli", "offline");
    silent.destroy();
  }

  /** Waits for a whole grace by the server's clock. */
  async function graceIsOver() {
    const silent = await silentDevice(server.port, "eli");
    await bo.sees("eli", "online");
    silent.destroy();
    await bo.sees("eli", "offline");
  }

  test("a hidden tab whose timers run once a minute stays online, follows what others do, and finds a server that comes back", async () => {
    const tab = await ana();
    await bo.sees("ana", "online");
    await tab.watchLink();
    await life.cover();
    await tab.until(() => document.visibilityState === "hidden");
    await ttlIsOver();
    assert.deepEqual(await bo.states("ana"), ["unknown", "online"]);
    await bo.choose("dnd");
    await tab.sees("bo", "dnd");
    assert.deepEqual(await tab.links(), ["live"]);

    // It redials long before its minute is over: those timers that a closed socket sets are not held back so.
    await server.kill();
    server = await Server.start(server.port);
    await bo.sees("ana", "online");
    assert.ok(!(await bo.states("ana")).includes("offline"));
  });

  test("a frozen tab stays online; thawed, it is stale until it knows better, and calls nobody what they are not", async () => {
    const tab = await ana();
    await Promise.all([bo.sees("ana", "online"), tab.sees("bo", "online")]);
    await life.cover();
    await tab.until(() => document.visibilityState === "hidden");
    await tab.freeze(true);
    await ttlIsOver();
    await bo.choose("dnd");
    assert.deepEqual(await bo.states("ana"), ["unknown", "online"]);
    await tab.freeze(false);
    await tab.page.bringToFront();
    await tab.sees("bo", "dnd");
    await tab.link("live");
    assert.ok(!(await tab.states("bo")).includes("offline"));
    assert.deepEqual(await bo.states("ana"), ["unknown", "online"]);
  });

  test("offline: stale at once, the view kept; online again: live within moments", async () => {
    const tab = await ana();
    await tab.sees("bo", "online");
    await tab.offline(true);
    await tab.sees("bo", "online", true);
    await bo.choose("dnd");
    await tab.offline(false);
    await tab.sees("bo", "dnd");
    assert.ok(!(await tab.states("bo")).includes("offline"));
  });

  test("away from the page and back to it, from the back/forward cache if it is kept: live with a new snapshot, under its own id", async () => {
    const tab = await ana();
    const session = await tab.session();
    await bo.sees("ana", "online");
    await tab.page.evaluate(() => {
      globalThis.keptInCache = true;
    });
    // Any other document of that server.
    await tab.page.goto(`http://127.0.0.1:${server.port}/?user=`);
    assert.equal(await tab.session(), `${session}!`);
    await bo.sees("ana", "offline");
    await bo.choose("dnd");
    await tab.back();
    await tab.sees("bo", "dnd");
    assert.equal(await tab.page.evaluate(() => globalThis.keptInCache === true), life.keepsPages);
    await bo.sees("ana", "online");
    assert.equal(await tab.session(), session);
  });

  test("the process of a page is killed: offline within the lease, and not before grace; loaded again, online", async () => {
    const tab = await ana();
    await bo.sees("ana", "online");
    const killed = Date.now();
    // All of that browser: which of them has the page is not told.
    const renderers = await life.renderers();
    assert.notEqual(renderers.length, 0);
    for (const renderer of renderers) process.kill(renderer, "SIGKILL");
    await bo.sees("ana", "offline");
    const took = (await bo.shown("ana")).at(-1).at - killed;
    assert.ok(took >= GRACE && took <= TTL + 2_000, `it took ${took} ms`);
    await tab.page.close();
    await ana();
    await bo.sees("ana", "online");
  });

  test("a duplicated tab is a session of its own; each keeps its id over a reload, and neither disturbs the other", async () => {
    const tab = await ana();
    await bo.sees("ana", "online");
    await tab.watchLink();
    const copy = await life.duplicate(tab);
    const [first, second] = [await tab.session(), await copy.session()];
    assert.notEqual(first, second);
    assert.deepEqual(await tab.links(), ["live"]);

    for (const it of [copy, tab]) {
      await it.page.reload();
      await it.link("live");
    }
    assert.deepEqual([await tab.session(), await copy.session()], [first, second]);
    await graceIsOver();
    assert.deepEqual(await bo.states("ana"), ["unknown", "online"]);
  });

  test("five tabs are one person: four are closed and nobody sees a change; the fifth goes, and she is offline", async () => {
    const tabs = [];
    for (let n = 0; n < 5; n++) tabs.push(await ana());
    await bo.sees("ana", "online");
    const last = tabs.pop();
    await Promise.all(tabs.map(tab => tab.page.close()));
    await graceIsOver();
    assert.deepEqual(await bo.states("ana"), ["unknown", "online"]);
    await last.page.close();
    await bo.sees("ana", "offline");
  });

  test("input in one tab is known to the others of that browser within half a second", async () => {
    const other = await ana();
    await other.page.evaluate(() => {
      globalThis.heardAt = {};
      for (const name of ["greendot", "beside"]) {
        new BroadcastChannel(name).onmessage = () => {
          globalThis.heardAt[name] ??= Date.now();
        };
      }
    });
    const tab = await ana();
    // What is said at the same moment over a channel of its own takes as long as the browser and the machine take.
    await tab.page.evaluate(() => {
      const beside = new BroadcastChannel("beside");
      addEventListener("keydown", () => beside.postMessage(0), { capture: true, once: true });
    });
    await tab.touch();
    await other.until(() => Object.keys(globalThis.heardAt).length === 2);
    const { greendot, beside } = await other.page.evaluate(() => globalThis.heardAt);
    assert.ok(greendot - beside <= 500, `it took ${greendot - beside} ms more than a word of the page's own`);
  });

  test("the wall clock is changed, forwards and back: the link is asked and kept, and nobody turns offline", async () => {
    const tab = await ana();
    await tab.sees("bo", "online");
    await tab.watchLink();
    for (const hours of [5, -5]) {
      await tab.page.evaluate(hours => {
        const now = Date.now.bind(Date);
        Date.now = () => now() + hours * 3_600_000;
      }, hours);
      await tab.touch();
      await bo.choose(hours > 0 ? "dnd" : "auto");
      await tab.sees("bo", hours > 0 ? "dnd" : "online");
    }
    assert.deepEqual(await tab.links(), ["live"]);
    assert.ok(!(await tab.states("bo")).includes("offline"));
  });

  test("the server drains and another takes its place: stale, never offline, then live again", async () => {
    const tab = await ana();
    await Promise.all([tab.sees("bo", "online"), bo.sees("ana", "online")]);
    await server.drain();
    await tab.sees("bo", "online", true);
    server = await Server.start(server.port);
    await tab.sees("bo", "online");
    await bo.sees("ana", "online");
    for (const states of [await tab.states("bo"), await bo.states("ana")]) {
      assert.ok(!states.includes("offline"), `shown as ${states}`);
    }
  });

  test("a link that only looks open is not shown as live; leaving then is told by a beacon", async () => {
    const proxy = await Proxy.start(server.port);
    try {
      const tab = await life.tab(proxy.port, "ana");
      await tab.sees("bo", "online");
      proxy.stall(true);
      // A beat, and 5 s for its answer; a timer of the page's own is as late as the machine is busy.
      await tab.page.evaluate(() => {
        const root = document.documentElement;
        const times = (globalThis.greendotTimes = {});
        setTimeout(() => (times.due = Date.now()), 3_000 + 5_000);
        const look = () => {
          if (document.querySelector('[data-user="bo"][data-stale="true"]') !== null) times.stale ??= Date.now();
        };
        new MutationObserver(look).observe(root, { subtree: true, attributeFilter: ["data-stale"] });
        look();
      });
      await tab.sees("bo", "online", true);
      await tab.until(() => Object.keys(globalThis.greendotTimes).length === 2);
      const { due, stale } = await tab.page.evaluate(() => globalThis.greendotTimes);
      assert.ok(stale - due <= 1_000, `it took ${stale - due} ms more`);
      // Somewhere else on that site: Firefox may end a site's process with its last page, and the beacon with it.
      await tab.page.goto(`http://127.0.0.1:${proxy.port}/?user=`);
      await until(() => proxy.requests.length > 0);
      const [{ line, body }] = proxy.requests;
      assert.deepEqual([line, /^[0-9a-f]{32}$/.test(body)], ["POST /presence/closing HTTP/1.1", true]);
      await bo.sees("ana", "offline");
    } finally {
      proxy.close();
    }
  });
}
