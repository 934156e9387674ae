// A Chromium whose tabs live as a person's do: hidden behind each other, throttled, frozen, kept in the back/forward
// cache. Playwright's own launch turns all of that off; so this one is started here and only then spoken to.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { Faults, FLAGS, keepLog } from "../world.mjs";
import { Tab } from "./tab.mjs";

/** Timers of a tab hidden for so long run once a minute (five minutes, as shipped). */
const THROTTLED_AFTER_SECS = 1;

export class Chromium {
  /** A page with a socket is kept in the back/forward cache. */
  keepsPages = true;
  #child;
  #folder;
  #browser;
  #context;
  #devtools;
  #faults = new Faults();

  static async start() {
    const browser = new Chromium();
    browser.#folder = await mkdtemp(join(tmpdir(), "greendot-life-"));
    const flags = [
      ...FLAGS,
      "--headless",
      "--remote-debugging-port=0",
      `--user-data-dir=${browser.#folder}`,
      `--enable-features=IntensiveWakeUpThrottling:grace_period_seconds/${THROTTLED_AFTER_SECS}`,
      "about:blank",
    ];
    const path = process.env.GREENDOT_CHROMIUM || "/usr/bin/chromium";
    browser.#child = spawn(path, flags, { stdio: ["ignore", "ignore", "pipe"] });
    browser.#browser = await chromium.connectOverCDP(await address(browser.#child.stderr), { noDefaults: true });
    browser.#context = browser.#browser.contexts()[0];
    await browser.#context.addInitScript(keepLog);
    browser.#faults.watch(browser.#context, "a person");
    browser.#devtools = await browser.#browser.newBrowserCDPSession();
    return browser;
  }

  async close() {
    await this.#browser?.close();
    const ended = once(this.#child, "exit");
    this.#child.kill();
    await ended;
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Ends all tabs but one that is empty. */
  async clear() {
    const empty = await this.#context.newPage();
    await Promise.all(this.#context.pages().map(page => page !== empty && page.close()));
    this.#faults.check();
  }

  /** Somebody opens the demo in a tab, in front of the others. */
  async tab(port, user) {
    const tab = await this.#tab(await this.#context.newPage(), user);
    await tab.page.goto(`http://127.0.0.1:${port}/?user=${user}`);
    await tab.link("live");
    return tab;
  }

  /** A page that a script opens begins with a copy of the opener's storage, as a duplicate does. */
  async duplicate(tab) {
    const opened = tab.page.waitForEvent("popup");
    await tab.page.evaluate(() => void window.open(location.href));
    const copy = await this.#tab(await opened, tab.user);
    await copy.link("live");
    return copy;
  }

  /** Another tab comes to the front: all the others are hidden. */
  async cover() {
    const page = await this.#context.newPage();
    await page.bringToFront();
  }

  /** The processes that run pages. */
  async renderers() {
    const { processInfo } = await this.#devtools.send("SystemInfo.getProcessInfo");
    return processInfo.filter(it => it.type === "renderer").map(it => it.id);
  }

  async #tab(page, user) {
    const devtools = await this.#context.newCDPSession(page);
    await devtools.send("Network.enable");
    await devtools.send("Page.enable");
    return new ChromiumTab(page, user, devtools);
  }
}

class ChromiumTab extends Tab {
  #devtools;

  constructor(page, user, devtools) {
    super(page, user);
    this.#devtools = devtools;
  }

  async freeze(frozen) {
    await this.#devtools.send("Page.setWebLifecycleState", { state: frozen ? "frozen" : "active" });
  }

  async offline(is) {
    const wide = { latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
    await this.#devtools.send("Network.emulateNetworkConditions", { offline: is, ...wide });
  }

  async back() {
    const { currentIndex, entries } = await this.#devtools.send("Page.getNavigationHistory");
    await this.#devtools.send("Page.navigateToHistoryEntry", { entryId: entries[currentIndex - 1].id });
  }

  async touch() {
    await this.#devtools.send("Input.dispatchKeyEvent", { type: "keyDown", key: "Shift" });
  }
}

async function address(stderr) {
  const lines = createInterface({ input: stderr });
  const found = await new Promise(found => {
    lines.on("line", line => {
      const [, url] = /DevTools listening on (ws:\S+)/.exec(line) ?? [];
      if (url !== undefined) found(url);
    });
  });
  stderr.resume();
  return found;
}
