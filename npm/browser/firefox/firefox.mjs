// Firefox as Debian ships it, driven by WebDriver BiDi: Playwright drives only a build of its own. What is here has the few
// methods of a Playwright page that `Tab` needs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Tab } from "../life.mjs";
import { keepLog } from "../world.mjs";

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
  #child;
  #folder;
  #bidi;

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
    const { contexts } = await this.#bidi.send("browsingContext.getTree", {});
    await this.#bidi.send("browsingContext.create", { type: "tab" });
    await Promise.all(contexts.map(({ context }) => this.#bidi.send("browsingContext.close", { context })));
  }

  /** Somebody opens the demo in a tab, in front of the others. */
  async tab(port, user) {
    const { context } = await this.#bidi.send("browsingContext.create", { type: "tab" });
    const tab = new Tab(new Page(this.#bidi, context), user);
    await tab.page.goto(`http://127.0.0.1:${port}/?user=${user}`);
    await tab.link("live");
    return tab;
  }

  /** The tab that a script has opened meanwhile. */
  async opened(known, user) {
    const { contexts } = await this.#bidi.send("browsingContext.getTree", {});
    const [{ context }] = contexts.filter(it => it.originalOpener !== null && !known.includes(it.context));
    const tab = new Tab(new Page(this.#bidi, context), user);
    await tab.link("live");
    return tab;
  }
}

/** A page, by what both drivers can do. */
class Page {
  #bidi;
  context;

  constructor(bidi, context) {
    this.#bidi = bidi;
    this.context = context;
  }

  async evaluate(call, arg) {
    const text = `async () => JSON.stringify(await (${call})(${JSON.stringify(arg)}))`;
    const { result, exceptionDetails } = await this.#bidi.send("script.callFunction", {
      functionDeclaration: text,
      awaitPromise: true,
      target: { context: this.context },
    });
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
    return result.type === "string" ? JSON.parse(result.value) : undefined;
  }

  async goto(url) {
    await this.#bidi.send("browsingContext.navigate", { context: this.context, url, wait: "complete" });
  }

  async reload() {
    await this.#bidi.send("browsingContext.reload", { context: this.context, wait: "complete" });
  }

  async back() {
    await this.#bidi.send("browsingContext.traverseHistory", { context: this.context, delta: -1 });
  }

  async press(key) {
    const actions = [{ type: "keyDown", value: key }, { type: "keyUp", value: key }];
    await this.#bidi.send("input.performActions", { context: this.context, actions: [{ type: "key", id: "keys", actions }] });
  }

  async close() {
    await this.#bidi.send("browsingContext.close", { context: this.context });
  }
}

/** One connection of the protocol: commands by number, and their answers. */
class Bidi {
  #socket;
  #next = 1;
  #waiting = new Map();

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

  #heard({ id, type, result, error, message }) {
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
