import assert from "node:assert/strict";
import { test } from "node:test";
import { GRACE, TTL, stage } from "./world.mjs";

const on = stage();

const person = user => on.browser.person(on.server, user);

/**
 * Waits until grace is over for everything that has ended so far: somebody leaves, and the watcher sees them go. What
 * was to come of an earlier end has come by then.
 */
async function graceIsOver(watcher, leaver) {
  await leaver.page.close();
  await watcher.sees(leaver.user, "offline");
}

test("two people see each other's dots come, change and go", async () => {
  const ana = await person("ana");
  assert.notEqual((await ana.states("bo")).at(-1), "online");
  const bo = await person("bo");
  await Promise.all([ana.sees("bo", "online"), bo.sees("ana", "online")]);

  await ana.choose("dnd");
  await bo.sees("ana", "dnd");
  await ana.choose("auto");
  await bo.sees("ana", "online");

  await ana.page.close();
  await bo.sees("ana", "offline");
  assert.match(await bo.page.locator('[data-user="ana"]').innerText(), /Offline · last seen just now/);
});

test("what one writes, the other reads", async () => {
  const ana = await person("ana");
  const bo = await person("bo");
  await ana.page.locator('[data-user="bo"] button').click();
  await ana.page.getByLabel("Message to Bo").fill("Hello, Bo!");
  await ana.page.getByRole("button", { name: "Send" }).click();
  await bo.page.locator('[data-user="ana"] .unread').waitFor();
  await bo.page.locator('[data-user="ana"] button').click();
  await bo.page.getByRole("log").getByText("Hello, Bo!").waitFor();
  assert.equal(await ana.page.locator('.mine[data-fate="sent"]').count(), 1);
});

test("who chooses a contact can write at once; after a reload the page says that nothing is kept", async () => {
  const ana = await person("ana");
  assert.equal(await ana.page.title(), "Ana · Greendot chat");
  await ana.page.locator('[data-user="bo"] button').click();
  await ana.page.keyboard.type("Hello, Bo!");
  await ana.page.keyboard.press("Enter");
  await ana.page.locator('.mine[data-fate="sent"]').waitFor();
  await ana.page.reload();
  await ana.page.locator('[data-user="bo"] button').click();
  await ana.page.getByRole("log").getByText("this demo keeps no messages").waitFor();
});

test("a browser without a network says so at once, and why a message was not sent", async () => {
  const [ana, bo] = await Promise.all([person("ana"), person("bo")]);
  await bo.sees("ana", "online");
  await bo.choose("dnd");
  await ana.sees("bo", "dnd");
  await ana.page.locator('[data-user="bo"] button').click();
  await ana.page.context().setOffline(true);
  await ana.page.getByRole("status").getByText("This device is offline").waitFor();
  await ana.page.getByLabel("Message to Bo").fill("Hello?");
  await ana.page.getByRole("button", { name: "Send" }).click();
  await ana.page.getByText("Not sent: the server cannot be reached").waitFor();
  await ana.page.context().setOffline(false);
  await ana.link("live");
  assert.equal(await ana.page.getByRole("status").innerText(), "");
});

test("a name that nobody has: the page says so, and asks the server nothing", async () => {
  const { page } = await person("ana");
  const refused = [];
  page.on("response", response => response.status() >= 400 && refused.push(response.url()));
  await page.goto(page.url().replace("ana", "zed"));
  await page.getByText("Nobody here is called zed").waitFor();
  await page.getByRole("link", { name: "bo" }).click();
  await page.locator('html[data-link="live"]').waitFor({ state: "attached" });
  assert.deepEqual(refused, []);
});

test("a note is seen beside the dot", async () => {
  const ana = await person("ana");
  const bo = await person("bo");
  await ana.page.getByLabel("Your note").fill("at lunch");
  await ana.page.getByLabel("Your note").press("Enter");
  await bo.page.locator('[data-user="ana"]').getByText("Online · at lunch").waitFor();
});

test("one of two tabs is closed: nobody sees a change", async () => {
  const [bo, cy, tab] = await Promise.all([person("bo"), person("cy"), person("ana")]);
  const other = await tab.tab();
  await Promise.all([bo.sees("ana", "online"), bo.sees("cy", "online")]);
  const from = Date.now();

  await tab.page.close();
  await graceIsOver(bo, cy);

  assert.deepEqual(await bo.states("ana", from), ["online"]);
  await other.page.close();
  await bo.sees("ana", "offline");
});

test("a reload within grace: nobody sees a change", async () => {
  const [ana, bo] = await Promise.all([person("ana"), person("bo")]);
  for (;;) {
    const cy = await person("cy");
    await Promise.all([bo.sees("ana", "online"), bo.sees("cy", "online")]);
    const from = Date.now();

    await ana.page.reload();
    await ana.link("live");
    const took = Date.now() - from;
    await graceIsOver(bo, cy);

    // A machine so busy that it takes longer than grace shows nothing.
    if (took >= GRACE) continue;
    assert.deepEqual(await bo.states("ana", from), ["online"]);
    return;
  }
});

test("a killed tab goes offline within the lease, and not before grace is over", async () => {
  const [ana, bo] = await Promise.all([person("ana"), person("bo")]);
  await bo.sees("ana", "online");

  const devtools = await ana.page.context().newCDPSession(ana.page);
  const killed = Date.now();
  // Never answered: the process that would answer is the one that dies.
  devtools.send("Page.crash").catch(() => {});
  await bo.sees("ana", "offline");

  const [online, offline, ...more] = await bo.shown("ana", killed);
  assert.deepEqual([online.state, offline.state, more], ["online", "offline", []]);
  const took = offline.at - killed;
  // A second for the sweep and another for a busy machine.
  assert.ok(took >= GRACE && took <= TTL + 2_000, `it took ${took} ms`);
});

test("signing out is seen at once, without grace", async () => {
  const [ana, bo, cy] = await Promise.all([person("ana"), person("bo"), person("cy")]);
  await Promise.all([bo.sees("ana", "online"), bo.sees("cy", "online")]);
  const signsOut = await ana.acts("click");
  const closed = Date.now();
  await Promise.all([cy.page.close(), ana.page.getByText("Sign out").click()]);
  await Promise.all([bo.sees("ana", "offline"), bo.sees("cy", "offline")]);

  const gone = async user => (await bo.shown(user)).at(-1).at;
  const [took, without] = [(await gone("ana")) - (await signsOut.when()), (await gone("cy")) - closed];
  assert.ok(without - took > GRACE / 2, `ana was gone after ${took} ms, and cy, who left without a goodbye, after ${without}`);
});
