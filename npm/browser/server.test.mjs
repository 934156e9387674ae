import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { Browser, Server } from "./world.mjs";

let server;
let browser;

before(async () => {
  browser = await Browser.start();
});
after(() => browser?.close());
beforeEach(async () => {
  server = await Server.start();
});
afterEach(async () => {
  await browser.clear();
  await server.kill();
});

const person = user => browser.person(server, user);

test("the server is killed and started again: stale, then live; nobody goes offline, no invisible user flashes up", async () => {
  const [ana, bo, cy] = await Promise.all([person("ana"), person("bo"), person("cy")]);
  await bo.sees("cy", "online");
  await cy.choose("invisible");
  await Promise.all([bo.sees("cy", "offline"), bo.sees("ana", "online")]);
  const from = Date.now();

  const stale = bo.becomesStale("ana");
  await server.kill();
  const since = await stale;
  // Heard of from the socket, not missed by a beat (3 s) that finds no answer.
  const took = since - (await bo.page.evaluate(() => globalThis.greendotEnded));
  assert.ok(took >= 0 && took < 1_500, `it took ${took} ms`);
  await bo.linkLost();
  await bo.sees("ana", "online", true);
  await bo.page.getByRole("status").getByText("what you see may be old").waitFor();

  server = await Server.start(server.port);
  await Promise.all([ana.link("live"), bo.link("live"), cy.link("live")]);
  await bo.sees("ana", "online");
  assert.equal(await bo.page.getByRole("status").innerText(), "");

  // The server starts with no memory: until it may call anybody offline, all that could flash up has done so.
  await bo.sees("cy", "offline");
  const ofAna = await bo.states("ana", from);
  const ofCy = await bo.states("cy", from);
  assert.ok(!ofAna.includes("offline"), `ana was shown as ${ofAna}`);
  assert.ok(ofCy.every(state => state === "offline" || state === "unknown"), `cy was shown as ${ofCy}`);
});

test("the server stays away: after a while nobody can say, but nobody is called offline", async () => {
  const [ana, bo] = await Promise.all([person("ana"), person("bo")]);
  await bo.sees("ana", "online");
  const from = Date.now();

  await server.kill();
  await bo.sees("ana", "unknown", true);
  assert.deepEqual(await bo.states("ana", from), ["online", "unknown"]);

  server = await Server.start(server.port);
  await Promise.all([ana, bo].map(tab => connectNow(tab)));
  await bo.sees("ana", "online");
  assert.ok(!(await bo.states("ana", from)).includes("offline"));
});

/** Does not wait out the pause between two dials, which has grown long by now. */
async function connectNow({ page }) {
  const live = page.locator('html[data-link="live"]');
  const button = page.getByRole("button", { name: "Try now" });
  await live.or(button).first().waitFor({ state: "attached" });
  if ((await live.count()) === 0) await button.click();
  await live.waitFor({ state: "attached" });
}
