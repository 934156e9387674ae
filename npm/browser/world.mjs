// The real server, the real pages and a real Chromium, for the tests beside this file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, afterEach, before } from "node:test";
import { chromium } from "playwright-core";

/** The demo's times, in milliseconds. */
export const GRACE = 3_000;
export const TTL = 12_000;

/** Shorter than shipped: nobody here is away for long, and what comes after the warm-up is waited for. */
const WARMUP_SECS = 15;

/** How long anything may take at most; a condition that holds ends the wait at once. */
export const PATIENCE = 60_000;

/** Chromium for machines: no sandbox in containers, and no calls home. */
export const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A running demo server. */
export class Server {
  #child;

  static async start(port = 0, ...more) {
    const server = new Server();
    const args = ["--port", String(port), "--assets", needed("GREENDOT_DEMO_ASSETS"), "--warmup", String(WARMUP_SECS), ...more];
    server.#child = spawn(needed("GREENDOT_CHAT_BIN"), args, { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(server.#child, "exit").then(([code]) => {
      throw new Error(`the server ended (${code}) before it listened`);
    });
    server.port = await Promise.race([listening(server.#child.stdout), ended]);
    ended.catch(() => {});
    return server;
  }

  /** As a power cut would: nobody is told. */
  async kill() {
    await this.#end("SIGKILL");
  }

  /** As a deploy does: everybody is told, with `drain`. */
  async drain() {
    await this.#end("SIGTERM");
  }

  async #end(signal) {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill(signal);
    await ended;
  }
}

async function listening(stdout) {
  const lines = createInterface({ input: stdout });
  const port = await new Promise(found => {
    lines.on("line", line => {
      const [, port] = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(line) ?? [];
      if (port !== undefined) found(Number(port));
    });
  });
  // Read on, so that the server never blocks on a full pipe.
  stdout.resume();
  return port;
}

function needed(name) {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`${name} is not set: run these tests with \`cargo xtask test --only browser\``);
}

/** Chromium and the people in it. */
export class Browser {
  #chromium;
  #faults = new Faults();

  static async start() {
    const browser = new Browser();
    const executablePath = process.env.GREENDOT_CHROMIUM || "/usr/bin/chromium";
    browser.#chromium = await chromium.launch({ executablePath, args: FLAGS });
    return browser;
  }

  async close() {
    await this.#chromium.close();
    this.#faults.check();
  }

  /** Ends all pages, for the next test to start with nobody there. */
  async clear() {
    await Promise.all(this.#chromium.contexts().map(context => context.close()));
    this.#faults.check();
  }

  /** A page with nothing in it. */
  async page() {
    const context = await this.#chromium.newContext();
    context.setDefaultTimeout(PATIENCE);
    this.#faults.watch(context, "a");
    return context.newPage();
  }

  /** Somebody opens the demo on a device of their own. */
  async person(server, user) {
    const context = await this.#chromium.newContext();
    context.setDefaultTimeout(PATIENCE);
    await context.addInitScript(keepLog);
    await context.addInitScript(noteEnds);
    this.#faults.watch(context, user);
    return new Person(context, server, user).tab();
  }
}

/** What pages throw and nobody catches: whatever else holds, a test in which it happens fails. */
export class Faults {
  #seen = [];

  /** From now on, in all pages of the browser context. */
  watch(context, whose) {
    context.on("weberror", fault => this.#seen.push(`${whose}'s page: ${fault.error().stack ?? fault.error()}`));
  }

  /** Throws if there was any since the last look. */
  check() {
    const seen = this.#seen.splice(0);
    if (seen.length > 0) throw new Error(`uncaught in a page:\n${seen.join("\n")}`);
  }
}

/** A server and a browser for all tests of a file; each test begins with nobody there. To be read within tests. */
export function stage() {
  const stage = {};
  before(async () => {
    [stage.server, stage.browser] = await Promise.all([Server.start(), Browser.start()]);
  });
  after(async () => {
    await stage.browser?.close();
    await stage.server?.kill();
  });
  afterEach(() => stage.browser.clear());
  return stage;
}

/** One tab of a person. */
export class Person {
  #context;
  #server;
  user;
  page;

  constructor(context, server, user) {
    this.#context = context;
    this.#server = server;
    this.user = user;
  }

  /** Opens another tab in the same browser. */
  async tab() {
    const tab = new Person(this.#context, this.#server, this.user);
    tab.page = await this.#context.newPage();
    await tab.page.goto(`http://127.0.0.1:${this.#server.port}/?user=${this.user}`);
    await tab.link("live");
    return tab;
  }

  async link(state) {
    await this.#waitFor(`html[data-link="${state}"]`);
  }

  async linkLost() {
    await this.#waitFor('html:not([data-link="live"])');
  }

  /** Waits until this tab shows a contact so. */
  async sees(user, state, stale = false) {
    await this.#waitFor(`[data-user="${user}"][data-state="${state}"][data-stale="${stale}"]`);
  }

  /** When this tab marks a contact as stale, in milliseconds of the day. To be asked before it happens. */
  becomesStale(user) {
    return this.page.evaluate(user => {
      const { promise, resolve } = Promise.withResolvers();
      const look = () => {
        if (document.querySelector(`[data-user="${user}"][data-stale="true"]`) !== null) resolve(Date.now());
      };
      new MutationObserver(look).observe(document, { subtree: true, attributeFilter: ["data-stale"] });
      look();
      return promise;
    }, user);
  }

  async choose(mode) {
    await this.page.selectOption(".me select", mode);
  }

  /**
   * When the person next does something in this tab, in milliseconds of the day: as the page hears of it, however long it takes
   * to have the browser do it. To be asked before.
   */
  async acts(type) {
    await this.page.evaluate(type => {
      // Kept there, it outlives a page that is left for it.
      const note = () => sessionStorage.setItem("acted", Date.now());
      addEventListener(type, note, { capture: true, once: true });
    }, type);
    const when = async () => (await this.page.waitForFunction(() => Number(sessionStorage.getItem("acted")))).jsonValue();
    return { when };
  }

  /** The states that this tab has shown of a contact, each with its time; the first is how it was at `from`. */
  async shown(user, from = 0) {
    const log = await this.page.evaluate(() => globalThis.greendotLog);
    const all = log.filter(entry => entry.user === user);
    const start = all.findLastIndex(entry => entry.at <= from);
    return all.slice(Math.max(start, 0));
  }

  async states(user, from) {
    return (await this.shown(user, from)).map(({ state }) => state);
  }

  async #waitFor(selector) {
    await this.page.locator(selector).first().waitFor({ state: "attached" });
  }
}

/** Runs in each page: notes when the first of its sockets has ended, before the page's own code hears of it. */
function noteEnds() {
  globalThis.WebSocket = class extends WebSocket {
    constructor(...args) {
      super(...args);
      this.addEventListener("close", () => {
        globalThis.greendotEnded ??= Date.now();
      });
    }
  };
}

/**
 * Runs in each page: writes down every state that a contact's element takes. A change that lasted for one frame is in it
 * as surely as one that stays.
 */
export function keepLog() {
  const log = [];
  globalThis.greendotLog = log;
  const last = new Map();
  const note = (user, state) => {
    if (last.get(user) === state) return;
    last.set(user, state);
    log.push({ user, state, at: Date.now() });
  };
  const noteAll = root => {
    for (const element of root.querySelectorAll("[data-user]")) note(element.dataset.user, element.dataset.state);
  };
  new MutationObserver(records => {
    // Two writes between two looks: the first is in the second's old value.
    for (const { target, oldValue, attributeName } of records) {
      if (attributeName === "data-state" && target.dataset.user && oldValue) note(target.dataset.user, oldValue);
    }
    noteAll(document);
  }).observe(document, { subtree: true, childList: true, attributeFilter: ["data-state"], attributeOldValue: true });
}
