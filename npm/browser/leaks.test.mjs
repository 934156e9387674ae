// A page that is open for weeks: whatever an app does over and over leaves nothing behind.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { Browser, Server } from "./world.mjs";

/** How often each is done at a time, and how many times; before that twice for all that is made once. */
const ROUNDS = 100;
const TIMES = 10;

let server;
let browser;
let page;
let devtools;

before(async () => {
  [server, browser] = await Promise.all([Server.start(), Browser.start()]);
  const bundle = await build({
    entryPoints: [`${import.meta.dirname}/leaks.mjs`],
    bundle: true,
    format: "esm",
    write: false,
    define: { "process.env.NODE_ENV": '"production"', "import.meta.url": "location.href" },
  });
  page = await browser.page();
  await page.addInitScript(count);
  await page.route("**/*.wasm", route => route.fulfill({ path: `${import.meta.dirname}/../dist/wasm/client_bg.wasm` }));
  // A document of the server itself: one that is made up here would be of no network, and could not reach a local one.
  await page.goto(`http://127.0.0.1:${server.port}/api/contacts?user=ana`);
  await page.addScriptTag({ type: "module", content: bundle.outputFiles[0].text });
  await page.waitForFunction(() => globalThis.ready);
  devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable");
});
after(async () => {
  await browser?.close();
  await server?.kill();
});

for (const name of ["mount", "connect", "reconnect"]) {
  test(`a thousand rounds of ${name} leave nothing behind`, async () => {
    const play = async times => {
      let now;
      for (let time = 0; time < times; time++) {
        await page.evaluate(([name, rounds]) => globalThis.play(name, rounds), [name, ROUNDS]);
        // What is closed and forgotten is collected when the browser sees fit: here, now.
        now = await held();
      }
      return now;
    };
    const { heap: heapBefore, ...before } = await play(2);
    let { heap: heapAfter, ...after } = await play(TIMES);
    // What has just been closed may be counted once more: it is waited for, as long as that is less than one for each round.
    for (let turn = 0; turn < 20 && isMore(after, before); turn++) ({ heap: heapAfter, ...after } = await held());
    assert.ok(!isMore(after, before), `${JSON.stringify(after)} after ${JSON.stringify(before)}`);
    // What the measuring itself leaves, and what the browser learns about code that runs often, is half of this; with ten
    // times the rounds it is a tenth. One closure that is kept for each of the four who are watched would be more.
    const perRound = (heapAfter - heapBefore) / (ROUNDS * TIMES);
    assert.ok(perRound < 250, `${perRound} bytes of the heap a round`);
  });
}

/** Whether there is more of anything. */
function isMore(after, before) {
  return Object.keys(before).some(name => after[name] > before[name]);
}

/** What the page holds while nothing goes on. */
async function held() {
  await page.evaluate(() => globalThis.rest());
  for (let turn = 0; turn < 3; turn++) {
    await devtools.send("HeapProfiler.collectGarbage");
    // What is finalized then is done in a task of its own.
    await page.evaluate(() => new Promise(requestIdleCallback));
  }
  const { metrics } = await devtools.send("Performance.getMetrics");
  const metric = name => metrics.find(it => it.name === name).value;
  const counts = await page.evaluate(() => globalThis.counts());
  return { ...counts, listeners: metric("JSEventListeners"), documents: metric("Documents"), heap: metric("JSHeapUsedSize") };
}

/** Runs in the page before all else: counts what is taken and given back. */
function count() {
  const timers = new Set();
  const { setTimeout, clearTimeout } = globalThis;
  globalThis.setTimeout = (call, ms, ...args) => {
    const id = setTimeout(() => {
      timers.delete(id);
      call(...args);
    }, ms);
    timers.add(id);
    return id;
  };
  globalThis.clearTimeout = id => {
    timers.delete(id);
    clearTimeout(id);
  };
  let memory;
  for (const name of ["instantiate", "instantiateStreaming"]) {
    const make = WebAssembly[name].bind(WebAssembly);
    WebAssembly[name] = async (...args) => {
      const made = await make(...args);
      const { exports } = made.instance ?? made;
      memory = Object.values(exports).find(it => it instanceof WebAssembly.Memory);
      return made;
    };
  }
  globalThis.counts = () => ({ timers: timers.size, wasm: memory.buffer.byteLength });
}
