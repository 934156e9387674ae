// Firefox as Debian ships it, driven by WebDriver BiDi: Playwright drives only a build of its own. What is here has the few
// methods of a Playwright page that `Tab` needs.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { keepLog } from "../world.mjs";
import { Tab, until } from "./tab.mjs";

/** No calls home, and no first-run pages. */
const PREFERENCES = {
  "app.update.enabled": false,
  "browser.aboutwelcome.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "toolkit.telemetry.server": "",
};

export class Firefox {
  /** A page with a socket is loaded anew when somebody goes back to it. */
  keepsPages = false;
  #child;
  #folder;
  #bidi;
  #faults = [];

  static async start() {
    const firefox = new Firefox();
    firefox.#folder = await mkdtemp(join(tmpdir(), "greendot-firefox-"));
    const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
    await writeFile(join(firefox.#folder, "user.js"), lines.join("\n"));
    const args = ["--headless", "--no-remote", "--profile", firefox.#folder, "--remote-debugging-port", "0"];
    const path = process.env.GREENDOT_FIREFOX || "firefox-esr";
    firefox.#child = spawn(path, args, { stdio: ["ignore", "ignore", "pipe"] });
    firefox.#bidi = await Bidi.connect(await address(firefox.#child.stderr));
    await firefox.#bidi.send("session.new", { capabilities: {} });
    await firefox.#bidi.send("script.addPreloadScript", { functionDeclaration: `${keepLog}` });
    await firefox.#bidi.send("session.subscribe", { events: ["log.entryAdded"] });
    firefox.#bidi.onEvent = ({ params: { type, level, text } }) => {
      if (type === "javascript" && level === "error") firefox.#faults.push(text);
    };
    return firefox;
  }

  async close() {
    const ended = once(this.#child, "exit");
    this.#child.kill();
    await ended;
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Ends all tabs but one that is empty. */
  async clear() {
    const known = await this.#contexts();
    await this.#bidi.send("browsingContext.create", { type: "tab" });
    await Promise.all(known.map(({ context }) => this.#bidi.send("browsingContext.close", { context })));
    const seen = this.#faults.splice(0);
    if (seen.length > 0) throw new Error(`uncaught in a page:\n${seen.join("\n")}`);
  }

  /** Somebody opens the demo in a tab, in front of the others. */
  async tab(port, user) {
    const { context } = await this.#bidi.send("browsingContext.create", { type: "tab" });
    const tab = this.#tab(context, user);
    await tab.page.goto(`http://127.0.0.1:${port}/?user=${user}`);
    await tab.link("live");
    return tab;
  }

  /** A page that a script opens begins with a copy of the opener's storage, as a duplicate does. */
  async duplicate(tab) {
    const known = new Set((await this.#contexts()).map(it => it.context));
    await tab.page.evaluate(() => void window.open(location.href));
    let opened;
    await until(async () => {
      opened = (await this.#contexts()).find(it => !known.has(it.context));
      return opened !== undefined;
    });
    const copy = this.#tab(opened.context, tab.user);
    await copy.link("live");
    return copy;
  }

  /** Another tab comes to the front: all the others are hidden. */
  async cover() {
    await this.#bidi.send("browsingContext.create", { type: "tab" });
  }

  /** The processes that run pages. */
  renderers() {
    return contentProcesses(this.#child.pid);
  }

  async #contexts() {
    return (await this.#bidi.send("browsingContext.getTree", {})).contexts;
  }

  #tab(context, user) {
    return new FirefoxTab(new Page(this.#bidi, context), user, this.#child.pid);
  }
}

class FirefoxTab extends Tab {
  #browser;

  constructor(page, user, browser) {
    super(page, user);
    this.#browser = browser;
  }

  /** There is no freeze here as Chromium knows it: the processes of the pages stand still, as on a phone that suspends them. */
  async freeze(frozen) {
    for (const id of await contentProcesses(this.#browser)) process.kill(id, frozen ? "SIGSTOP" : "SIGCONT");
  }

  offline(is) {
    return this.page.emulate(is ? { type: "offline" } : null);
  }

  back() {
    return this.page.traverse(-1);
  }

  touch() {
    return this.page.press("a");
  }
}

/** A page, by what both drivers can do. */
class Page {
  #bidi;
  #context;

  constructor(bidi, context) {
    this.#bidi = bidi;
    this.#context = context;
  }

  async evaluate(call, arg) {
    const text = `async () => JSON.stringify(await (${call})(${JSON.stringify(arg)}))`;
    const { result, exceptionDetails } = await this.#send("script.callFunction", {
      functionDeclaration: text,
      awaitPromise: true,
      target: { context: this.#context },
    });
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
    return result.type === "string" ? JSON.parse(result.value) : undefined;
  }

  goto(url) {
    return this.#here("browsingContext.navigate", { url, wait: "complete" });
  }

  reload() {
    return this.#here("browsingContext.reload", { wait: "complete" });
  }

  traverse(delta) {
    return this.#here("browsingContext.traverseHistory", { delta });
  }

  bringToFront() {
    return this.#here("browsingContext.activate", {});
  }

  press(key) {
    const actions = [{ type: "keyDown", value: key }, { type: "keyUp", value: key }];
    return this.#here("input.performActions", { actions: [{ type: "key", id: "keys", actions }] });
  }

  emulate(networkConditions) {
    return this.#send("emulation.setNetworkConditions", { networkConditions, contexts: [this.#context] });
  }

  close() {
    return this.#here("browsingContext.close", {});
  }

  #here(method, params) {
    return this.#send(method, { context: this.#context, ...params });
  }

  #send(method, params) {
    return this.#bidi.send(method, params);
  }
}

/** The browser's processes that run pages, by their command lines; it has them made by a process that only forks. */
async function contentProcesses(browser) {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid=,ppid=,args="], { maxBuffer: 1 << 24 });
  const all = stdout.split("\n").map(line => /^ *(\d+) +(\d+) (.*)$/.exec(line)?.slice(1) ?? []);
  const below = parent => all.filter(([, of]) => of === parent).flatMap(it => [it, ...below(it[0])]);
  return below(String(browser)).flatMap(([id, , line]) => (/ tab$/.test(line) ? [Number(id)] : []));
}

/** One connection of the protocol: commands by number, and their answers. */
class Bidi {
  #socket;
  #next = 1;
  #waiting = new Map();
  onEvent = () => {};

  static async connect(url) {
    const bidi = new Bidi();
    bidi.#socket = new WebSocket(url);
    bidi.#socket.onmessage = ({ data }) => bidi.#heard(JSON.parse(data));
    await once(bidi.#socket, "open");
    return bidi;
  }

  send(method, params) {
    const id = this.#next++;
    const answered = new Promise((done, failed) => this.#waiting.set(id, { done, failed, method }));
    this.#socket.send(JSON.stringify({ id, method, params }));
    return answered;
  }

  #heard(said) {
    const { id, type, result, error, message } = said;
    if (type === "event") return this.onEvent(said);
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    if (type === "success") waiting.done(result);
    else waiting.failed(new Error(`${waiting.method}: ${error}: ${message}`));
  }
}

async function address(stderr) {
  const lines = createInterface({ input: stderr });
  const found = await new Promise((found, failed) => {
    lines.on("line", line => {
      const [, url] = /WebDriver BiDi listening on (ws:\S+)/.exec(line) ?? [];
      if (url !== undefined) found(`${url}/session`);
    });
    lines.on("close", () => failed(new Error("Firefox ended before it listened")));
  });
  stderr.resume();
  return found;
}
