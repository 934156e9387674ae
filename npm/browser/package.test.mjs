import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, Server } from "./world.mjs";

let server;
let browser;

before(async () => {
  [server, browser] = await Promise.all([Server.start(), Browser.start()]);
});
after(async () => {
  await browser?.close();
  await server?.kill();
});

test("imported on a server, it connects to nothing", async () => {
  // By its own name: what Node resolves is what is installed.
  const { connect } = await import("greendot");
  const client = connect({ url: "/presence", token: () => assert.fail("no token is needed") });
  assert.deepEqual(client.link, { state: "closed", stale: true });
  assert.deepEqual(client.get("ana"), { user: "ana", state: "unknown", stale: true });
  await import("greendot/react");
});

test("the wasm file does not load: the page says so, and connects when asked again", async () => {
  const ana = await browser.person(server, "ana");
  await ana.page.route("**/*.wasm", route => route.fulfill({ status: 503 }));
  await ana.page.reload();
  await ana.link("stopped");
  await ana.page.getByRole("status").getByText("A part of this page did not load.").waitFor();
  await ana.page.unroute("**/*.wasm");
  await ana.page.getByRole("button", { name: "Connect" }).click();
  await ana.link("live");
});

test("what a page throws and nobody catches fails the test it happens in", async () => {
  const { page } = await browser.person(server, "bo");
  const thrown = page.waitForEvent("pageerror");
  await page.evaluate(() => void setTimeout(() => { throw new Error("out of the blue"); }));
  await thrown;
  await assert.rejects(browser.clear(), /bo's page: Error: out of the blue/);
});
