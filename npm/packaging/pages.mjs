// Two people in Chromium.
import { chromium } from "playwright-core";
import { Faults, FLAGS } from "../browser/world.mjs";
import { PATIENCE } from "./servers.mjs";

export class Pages {
  #browser;
  #faults = new Faults();

  static async start(executablePath) {
    const pages = new Pages();
    pages.#browser = await chromium.launch({ executablePath, args: FLAGS });
    return pages;
  }

  async close() {
    await this.#browser.close();
  }

  /** Until ana and bo have seen each other come, and ana has seen bo go. */
  async seeEachOther(site, socket) {
    const ana = await this.#open(site, socket, "ana");
    await ana.sees("bo", "offline");
    const bo = await this.#open(site, socket, "bo");
    await Promise.all([ana.sees("bo", "online"), bo.sees("ana", "online")]);
    await bo.close();
    await ana.sees("bo", "offline");
    await ana.close();
    this.#faults.check();
  }

  async #open(site, socket, user) {
    const context = await this.#browser.newContext();
    context.setDefaultTimeout(PATIENCE);
    this.#faults.watch(context, user);
    const said = [];
    const page = await context.newPage();
    // What a browser says of a page that is well: nothing. Nor may the wasm file come in a way that compiles it only once it is whole.
    page.on("console", it => {
      const about = it.location().url;
      if (["error", "warning"].includes(it.type()) && !about.endsWith("/favicon.ico")) said.push(`${it.text()} ${about}`);
    });
    const wasm = page.waitForResponse(it => /\.wasm(\?|$)/.test(it.url()), { timeout: PATIENCE });
    wasm.catch(() => {});
    await page.goto(`${site}/?${new URLSearchParams({ server: socket, user })}`);
    const type = (await wasm).headers()["content-type"];
    if (type !== "application/wasm") throw new Error(`the wasm file came as ${type}`);
    return {
      sees: async (other, state) => {
        const dot = page.locator(`[data-user="${other}"][data-state="${state}"], green-dot[user="${other}"][state="${state}"]`);
        await dot.waitFor({ state: "attached" }).catch(error => {
          throw new Error(`${user} did not see ${other} ${state}: ${error.message}\nconsole: ${said.join("\n")}`);
        });
      },
      close: async () => {
        await page.close({ runBeforeUnload: false });
        await context.close();
        if (said.length > 0) throw new Error(`${user}'s page said:\n${said.join("\n")}`);
      },
    };
  }
}
