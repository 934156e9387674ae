// The panel shows what the client does.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openBundled } from "./bundle.mjs";
import { stage } from "./world.mjs";

const on = stage();

test("the panel shows the link, who is watched with which version, and each frame; and goes without a trace", async () => {
  const page = await openBundled(on.browser, on.server, "panel.mjs", "ana");
  await page.evaluate(() => {
    openDevtools();
    globalThis.stop = presence.watch(["bo", "cy"], () => {});
  });
  const summary = page.getByText("greendot live");
  await summary.click();
  await page.getByRole("cell", { name: "bo", exact: true }).waitFor();
  await page.getByText(/↑ watch .*"user":"cy"/).waitFor();
  await page.getByText(/↓ snapshot /).waitFor();
  const bo = await openBundled(on.browser, on.server, "panel.mjs", "bo");
  const row = page.getByRole("row", { name: /^bo online/ });
  await row.waitFor();
  assert.match(await row.innerText(), /^bo\tonline\t\t\d+\t1$/);
  await bo.evaluate(() => presence.signOut());
  await page.getByRole("row", { name: /^bo offline/ }).waitFor();
  // A beat goes out and is answered: on coming back into sight, a page asks.
  await page.getByText(/^\d+(\.\d)? ms$/).waitFor();
  await page.evaluate(() => {
    presence.signOut();
    presence.connect();
  });
  // What lets somebody speak in the user's name is not shown to whoever looks over the shoulder.
  await page.getByText(/↑ hello .*"token":"3 bytes"/).waitFor();
  await summary.waitFor();
  await page.evaluate(() => {
    globalThis.stop();
    presence.signOut();
  });
  await page.getByText("greendot closed").waitFor();
  await page.evaluate(() => closeDevtools());
  assert.equal(await page.getByText("greendot closed").count(), 0);
});
