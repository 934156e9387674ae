// Who sees whom: hiding from one, and who is seen in a talk.
import assert from "node:assert/strict";
import { test } from "node:test";
import { GRACE, Server, stage } from "./world.mjs";

const on = stage();

const person = user => on.browser.person(on.server, user);

/** Opens the privacy menu, from the keyboard, and returns the choice to hide from somebody. */
async function hiding({ page }, from) {
  await page.locator(".privacy summary").focus();
  await page.keyboard.press("Enter");
  return page.getByRole("group", { name: "Hide from" }).getByRole("checkbox", { name: from });
}

/** Opens the talk with somebody. */
async function opens({ page }, other) {
  await page.locator(`[data-user="${other}"] button`).click();
}

/** Waits until the open talk says who else looks at it, in faces and in words. */
async function seesViewers({ page }, viewers, words) {
  await page.locator(`.viewers[data-known="true"][data-viewers="${viewers}"]`).getByText(words, { exact: true }).waitFor();
}

test("who hides from one is offline to that one at once, and after a reload; and is back when shown again", async () => {
  const [ana, bo, cy, dee] = await Promise.all(["ana", "bo", "cy", "dee"].map(person));
  await Promise.all([bo.sees("ana", "online"), bo.sees("dee", "online"), cy.sees("ana", "online")]);
  const hide = await hiding(ana, "Bo");
  const from = Date.now();

  const hides = await ana.acts("click");
  const closed = Date.now();
  await Promise.all([dee.page.close(), hide.check()]);
  await Promise.all([bo.sees("ana", "offline"), bo.sees("dee", "offline")]);
  const gone = async user => (await bo.shown(user, from)).at(-1).at;
  const [took, without] = [(await gone("ana")) - (await hides.when()), (await gone("dee")) - closed];
  assert.ok(without - took > GRACE / 2, `ana was gone after ${took} ms, and dee, who left, after ${without}`);
  await ana.page.locator('[data-user="bo"]').getByText("Can’t see you").waitFor();
  assert.deepEqual(await cy.states("ana", from), ["online"]);

  await bo.page.reload();
  await bo.sees("ana", "offline");
  await bo.sees("cy", "online");
  assert.ok(!(await bo.states("ana")).includes("online"));
  // What is chosen is the server's, and still there in a page that has just been opened.
  await ana.page.reload();
  await ana.link("live");
  const show = await hiding(ana, "Bo");
  assert.equal(await show.isChecked(), true);
  assert.ok(!(await bo.states("ana")).includes("online"));

  await show.uncheck();
  await bo.sees("ana", "online");
});

test("how exactly one was seen last is a choice that stays", async () => {
  const ana = await person("ana");
  await hiding(ana, "Bo");
  await ana.page.getByLabel("When you were last here is shown").selectOption("never");
  await ana.page.getByText("Last seen: to nobody").waitFor();
  await ana.page.reload();
  await ana.page.getByText("Last seen: to nobody").waitFor();
  const bo = await person("bo");
  await bo.sees("ana", "online");
  await ana.page.getByText("Sign out").click();
  await bo.sees("ana", "offline");
  assert.doesNotMatch(await bo.page.locator('[data-user="ana"]').innerText(), /last seen/);
});

test("two in one talk see each other there; who is invisible, hides or looks elsewhere is not there", async () => {
  const [ana, bo] = await Promise.all([person("ana"), person("bo")]);
  await Promise.all([opens(ana, "bo"), opens(bo, "ana")]);
  await seesViewers(ana, "bo", "You and Bo are viewing this talk");
  await seesViewers(bo, "ana", "You and Ana are viewing this talk");

  await bo.choose("invisible");
  await seesViewers(ana, "", "Only you are viewing this talk");
  await seesViewers(bo, "ana", "Ana is viewing this talk; nobody sees that you are");
  await bo.page.locator(".privacy summary").getByText("Nobody sees you").waitFor();
  await bo.choose("auto");
  await seesViewers(ana, "bo", "You and Bo are viewing this talk");

  const hide = await hiding(bo, "Ana");
  await hide.check();
  await seesViewers(ana, "", "Only you are viewing this talk");
  await hide.uncheck();
  await seesViewers(ana, "bo", "You and Bo are viewing this talk");

  await opens(bo, "cy");
  await seesViewers(ana, "", "Only you are viewing this talk");
});

test("where sight is mutual, who is invisible sees nobody, and all again when seen again", async () => {
  const server = await Server.start(0, "--reciprocal");
  try {
    const [ana, bo, cy] = await Promise.all(["ana", "bo", "cy"].map(user => on.browser.person(server, user)));
    await Promise.all([bo.sees("ana", "online"), bo.sees("cy", "online"), cy.sees("ana", "online")]);
    const from = Date.now();
    await bo.choose("invisible");
    await Promise.all([bo.sees("ana", "offline"), bo.sees("cy", "offline"), ana.sees("bo", "offline")]);
    // What happens meanwhile is for others only, after a reload too.
    await ana.choose("dnd");
    await cy.sees("ana", "dnd");
    await bo.page.reload();
    await bo.sees("cy", "offline");
    const hidden = await bo.states("ana");
    assert.ok(hidden.every(state => state === "offline" || state === "unknown"), `ana was shown as ${hidden}`);

    await bo.choose("auto");
    await Promise.all([bo.sees("ana", "dnd"), bo.sees("cy", "online"), ana.sees("bo", "online")]);
    assert.deepEqual(await cy.states("ana", from), ["online", "dnd"]);
  } finally {
    await server.kill();
  }
});

test("one sees where one is, and ends a page that was left open elsewhere", async () => {
  // Nobody else in this file is eli, so none of the sessions is left over.
  const [eli, elsewhere, bo] = await Promise.all([person("eli"), person("eli"), person("bo")]);
  await bo.sees("eli", "online");
  const from = Date.now();
  await hiding(eli, "Bo");
  const devices = eli.page.getByRole("region", { name: "Where you are" });
  await devices.getByRole("listitem").nth(1).waitFor();
  assert.match(await devices.locator('[data-here="true"]').innerText(), /^Chrome on Linux\s+this page$/);
  await devices.getByRole("button", { name: "End it on Chrome on Linux" }).click();
  await elsewhere.link("stopped");
  await elsewhere.page.getByRole("status").getByText("You have ended this page").waitFor();
  await devices.locator('[data-here="false"]').waitFor({ state: "detached" });
  assert.deepEqual(await bo.states("eli", from), ["online"]);
});
