// What happens to pages, in Firefox: as much of life.test.mjs as its own driver can bring about.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { Firefox } from "./firefox.mjs";
import { Proxy, silentDevice, until } from "../life.mjs";
import { Server } from "../world.mjs";

let server;
let firefox;
let bo;

before(async () => {
  firefox = await Firefox.start();
});
after(() => firefox?.close());
beforeEach(async () => {
  server = await Server.start();
  bo = await firefox.tab(server.port, "bo");
});
afterEach(async () => {
  await firefox.clear();
  await server.kill();
});

const ana = () => firefox.tab(server.port, "ana");

async function silence(ends) {
  const silent = await silentDevice(server.port, "eli");
  await bo.sees("eli", "online");
  if (ends) silent.destroy();
  await bo.sees("eli", "offline");
  silent.destroy();
}
const graceIsOver = () => silence(true);
const ttlIsOver = () => silence(false);

/** What bo has been shown of ana since she was first seen. */
const shown = async () => (await bo.states("ana")).filter(state => state !== "unknown" && state !== null);

test("two people see each other's dots come, change and go; a hidden tab stays online", async () => {
  const tab = await ana();
  await Promise.all([bo.sees("ana", "online"), tab.sees("bo", "online")]);
  await bo.until(() => document.visibilityState === "hidden");
  await bo.choose("dnd");
  await tab.sees("bo", "dnd");
  await ttlIsOver();
  assert.ok(!(await tab.states("bo")).includes("offline"));
  await tab.page.close();
  await bo.sees("ana", "offline");
});

test("away from the page and back to it: live with a new snapshot, under its own id", async () => {
  const tab = await ana();
  const session = await tab.session();
  await bo.sees("ana", "online");
  await tab.page.goto(`http://127.0.0.1:${server.port}/api/contacts?user=ana`);
  await bo.sees("ana", "offline");
  await bo.choose("dnd");
  // Firefox does not keep the page in its cache as Chromium does; it must come to the same.
  await tab.page.back();
  await tab.sees("bo", "dnd");
  await bo.sees("ana", "online");
  assert.equal(await tab.session(), session);
});

test("a duplicated tab is a session of its own; each keeps its id over a reload", async () => {
  const tab = await ana();
  await bo.sees("ana", "online");
  await tab.watchLink();
  await tab.page.evaluate(() => void window.open(location.href));
  const copy = await firefox.opened([tab.page.context, bo.page.context], "ana");
  const [first, second] = [await tab.session(), await copy.session()];
  assert.notEqual(first, second);
  assert.deepEqual(await tab.links(), ["live"]);
  for (const it of [copy, tab]) {
    await it.page.reload();
    await it.link("live");
  }
  assert.deepEqual([await tab.session(), await copy.session()], [first, second]);
  await graceIsOver();
  assert.deepEqual(await shown(), ["online"]);
});

test("input in one tab is known to the others within half a second", async () => {
  const other = await ana();
  await other.page.evaluate(() => {
    new BroadcastChannel("greendot").onmessage = () => {
      globalThis.heardAt ??= Date.now();
    };
  });
  const tab = await ana();
  const touched = Date.now();
  await tab.page.press("a");
  await other.until(() => globalThis.heardAt !== undefined);
  const took = (await other.page.evaluate(() => globalThis.heardAt)) - touched;
  assert.ok(took <= 500, `it took ${took} ms`);
});

test("the server is killed, or drains, and another takes its place: stale, never offline, then live again", async () => {
  const tab = await ana();
  await Promise.all([tab.sees("bo", "online"), bo.sees("ana", "online")]);
  for (const end of ["kill", "drain"]) {
    await server[end]();
    await tab.sees("bo", "online", true);
    server = await Server.start(server.port);
    await Promise.all([tab.sees("bo", "online"), bo.sees("ana", "online")]);
  }
  for (const states of [await tab.states("bo"), await bo.states("ana")]) {
    assert.ok(!states.includes("offline"), `shown as ${states}`);
  }
});

test("a link that only looks open is not shown as live; leaving then is told by a beacon", async () => {
  const proxy = await Proxy.start(server.port);
  try {
    const tab = await firefox.tab(proxy.port, "ana");
    await tab.sees("bo", "online");
    proxy.stall(true);
    await tab.sees("bo", "online", true);
    // Somewhere else on that site: a process that Firefox ends with its last page may take the beacon along.
    await tab.page.goto(`http://127.0.0.1:${proxy.port}/`);
    await until(() => proxy.requests.length > 0);
    const [{ line, body }] = proxy.requests;
    assert.deepEqual([line, /^[0-9a-f]{32}$/.test(body)], ["POST /presence/closing HTTP/1.1", true]);
    await bo.sees("ana", "offline");
  } finally {
    proxy.close();
  }
});
