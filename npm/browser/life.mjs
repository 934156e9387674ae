// A Chromium whose tabs live as a person's do: hidden behind each other, throttled, frozen, kept in the back/forward
// cache. Playwright's own launch turns all of that off; so this one is started here and only then spoken to.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { Faults, FLAGS, keepLog, PATIENCE } from "./world.mjs";

/** Timers of a tab hidden for so long run once a minute (five minutes, as shipped). */
const THROTTLED_AFTER_SECS = 1;

export class LifeBrowser {
  #child;
  #folder;
  #browser;
  #context;
  #devtools;
  #faults = new Faults();

  static async start() {
    const browser = new LifeBrowser();
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
    const tab = new Tab(await this.#context.newPage(), user);
    await tab.prepare();
    await tab.page.goto(`http://127.0.0.1:${port}/?user=${user}`);
    await tab.link("live");
    return tab;
  }

  /** What a page that is already there shows, as a tab: one that a script has opened. */
  async adopt(page, user) {
    const tab = new Tab(page, user);
    await tab.prepare();
    await tab.link("live");
    return tab;
  }

  /** Another tab comes to the front: all the others are hidden. */
  async cover() {
    const page = await this.#context.newPage();
    await page.bringToFront();
    return page;
  }

  /** The processes that run pages. */
  async renderers() {
    const { processInfo } = await this.#devtools.send("SystemInfo.getProcessInfo");
    return processInfo.filter(it => it.type === "renderer").map(it => it.id);
  }
}

/** A tab, asked from outside: nothing of this needs a timer or a frame of the page. */
export class Tab {
  page;
  user;
  devtools;

  constructor(page, user) {
    this.page = page;
    this.user = user;
  }

  async prepare() {
    this.devtools = await this.page.context().newCDPSession(this.page);
    await this.devtools.send("Network.enable");
    await this.devtools.send("Page.enable");
  }

  /** Waits until the function holds in the page. */
  until(holds, arg) {
    return until(() => this.page.evaluate(holds, arg));
  }

  link(state) {
    return this.until(state => document.documentElement?.dataset.link === state, state);
  }

  stale(is) {
    return this.until(is => document.querySelector(".link-line")?.dataset.stale === String(is), is);
  }

  sees(user, state, stale = false) {
    const selector = `[data-user="${user}"][data-state="${state}"][data-stale="${stale}"]`;
    return this.until(selector => document.querySelector(selector) !== null, selector);
  }

  async states(user) {
    const log = await this.page.evaluate(() => globalThis.greendotLog);
    return log.filter(entry => entry.user === user).map(entry => entry.state);
  }

  /** Writes down from now on what the link becomes. */
  async watchLink() {
    await this.page.evaluate(() => {
      const root = document.documentElement;
      const links = (globalThis.greendotLinks = [root.dataset.link]);
      const note = () => links.at(-1) !== root.dataset.link && links.push(root.dataset.link);
      new MutationObserver(note).observe(root, { attributeFilter: ["data-link"] });
    });
  }

  links() {
    return this.page.evaluate(() => globalThis.greendotLinks);
  }

  /** Chooses a mode as the person does in the menu. */
  choose(mode) {
    return this.page.evaluate(mode => {
      const menu = document.querySelector(".me select");
      // React listens for what its own setter did not do.
      Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, "value").set.call(menu, mode);
      menu.dispatchEvent(new Event("change", { bubbles: true }));
    }, mode);
  }

  session() {
    return this.page.evaluate(() => sessionStorage.getItem("greendot.session"));
  }

  async freeze(frozen) {
    await this.devtools.send("Page.setWebLifecycleState", { state: frozen ? "frozen" : "active" });
  }

  async offline(is) {
    const wide = { latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
    await this.devtools.send("Network.emulateNetworkConditions", { offline: is, ...wide });
  }

  async back() {
    const { currentIndex, entries } = await this.devtools.send("Page.getNavigationHistory");
    await this.devtools.send("Page.navigateToHistoryEntry", { entryId: entries[currentIndex - 1].id });
  }

  async touch() {
    await this.devtools.send("Input.dispatchKeyEvent", { type: "keyDown", key: "Shift" });
  }
}

/** Waits for a condition, asking again until it holds. A page that is being replaced cannot answer, and is asked again. */
export async function until(holds) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    let last;
    try {
      if (await holds()) return;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`it never came to be: ${holds}`, { cause: last });
    await new Promise(done => setTimeout(done, 20));
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

/**
 * A device that says hello and then nothing, no pong either: its session ends when its lease runs out. To wait for that is
 * to wait for a whole ttl by the server's own clock.
 */
export async function silentDevice(port, user) {
  const request = http.request({
    port,
    path: "/presence",
    headers: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": randomBytes(16).toString("base64"),
      "sec-websocket-protocol": "greendot.v1.json",
    },
  });
  request.end();
  const [, socket] = await once(request, "upgrade");
  const hello = Buffer.from(JSON.stringify({ type: "hello", session: "silent", token: user }));
  const mask = randomBytes(4);
  const masked = hello.map((byte, at) => byte ^ mask[at % 4]);
  socket.on("error", () => {});
  socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | hello.length]), mask, masked]));
  socket.resume();
  return socket;
}

/** A network between pages and server, whose sockets can be made to go nowhere while both ends think that they stand. */
export class Proxy {
  #server;
  #pairs = new Set();
  #stalled = false;
  /** The first line of each request that was not for a socket, and its body. */
  requests = [];

  static async start(port) {
    const proxy = new Proxy();
    proxy.#server = net.createServer(near => proxy.#carry(near, port));
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port() {
    return this.#server.address().port;
  }

  /** From now on nothing passes on presence sockets, those to come included; nobody is told. */
  stall(is) {
    this.#stalled = is;
  }

  close() {
    this.#server.close();
    for (const pair of this.#pairs) pair.forEach(end => end.destroy());
  }

  #carry(near, port) {
    const far = net.connect(port, "127.0.0.1");
    const pair = [near, far];
    this.#pairs.add(pair);
    let isSocket;
    const pass = (to, first) => bytes => {
      if (first) isSocket = this.#note(bytes, isSocket);
      if (!(isSocket && this.#stalled)) to.write(bytes);
    };
    near.on("data", pass(far, true));
    far.on("data", pass(near, false));
    for (const end of pair) {
      end.on("error", () => {});
      end.on("close", () => {
        if (isSocket && this.#stalled) return;
        pair.forEach(other => other.destroy());
        this.#pairs.delete(pair);
      });
    }
  }

  #note(bytes, isSocket) {
    const head = bytes.toString("latin1");
    if (isSocket || head.startsWith("GET /presence")) return true;
    if (head.startsWith("POST ")) this.requests.push({ line: head.split("\r\n", 1)[0], body: head.split("\r\n\r\n")[1] });
    return false;
  }
}
