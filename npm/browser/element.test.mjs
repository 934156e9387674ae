// `<green-dot>` where layout is real: it watches while it is on the screen, and says how it looks to everybody.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readClient } from "./frames.mjs";
import { openBundled } from "./bundle.mjs";
import { stage } from "./world.mjs";

const on = stage();

/** For so many milliseconds a row that has left the screen is held. */
const HELD = 1_000;

/** A page, and whom its connection watches, frame by frame. */
async function open(user = "ana") {
  const wire = { watched: new Map(), begun: [], frames: 0 };
  const follow = socket =>
    socket.on("framesent", ({ payload }) => {
      const frame = readClient(payload);
      if (frame?.type !== "watch" && frame?.type !== "unwatch") return;
      wire.frames++;
      for (const { number, user } of frame.users ?? []) {
        wire.watched.set(number, user);
        wire.begun.push(user);
      }
      for (const number of frame.numbers ?? []) wire.watched.delete(number);
    });
  const page = await openBundled(on.browser, on.server, "panel.mjs", user, page => page.on("websocket", follow));
  await page.setViewportSize({ width: 400, height: 400 });
  return { page, wire };
}

const names = (from, to) => Array.from({ length: to - from }, (_, at) => `user${from + at}`);

/** Until the page watches just these on the wire. */
async function watches(page, wire, expected) {
  const now = () => [...wire.watched.values()].sort();
  const wanted = [...expected].sort();
  for (let turn = 0; turn < 600; turn++) {
    if (now().join() === wanted.join()) return;
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  assert.deepEqual(now(), wanted);
}

/** The rows on the screen of a window of 400, and 200 more on either side. */
async function visible(page, wire) {
  const { from, to } = await page.evaluate(() => {
    const near = [...document.querySelectorAll("green-dot")].filter(it => {
      const { bottom, top } = it.getBoundingClientRect();
      return bottom >= -200 && top <= innerHeight + 200;
    });
    return { from: Number(near[0].user.slice(4)), to: Number(near.at(-1).user.slice(4)) + 1 };
  });
  await watches(page, wire, names(from, to));
  return [from, to];
}

test("only what is on the screen, or near it, is watched", async () => {
  const { page, wire } = await open();
  await page.evaluate(() => list(1_000));
  const [from, to] = await visible(page, wire);
  assert.equal(from, 0);
  assert.ok(to < 20, `${to} of 1,000`);
  await page.evaluate(() => scrollTo(0, 20_000));
  const [later] = await visible(page, wire);
  assert.ok(later > 400);
  await page.evaluate(() => document.getElementById("list").remove());
  await watches(page, wire, []);
});

test("a thousand rows that fly past cost few frames, and those that stay are right", async () => {
  const { page, wire } = await open();
  await page.evaluate(() => list(1_000));
  await visible(page, wire);
  const before = wire.frames;
  const took = await page.evaluate(async () => {
    const start = performance.now();
    // Two thousand pixels a frame: fifty rows, more than a screen.
    for (let top = 0; top <= 40_000; top += 2_000) {
      scrollTo(0, top);
      await new Promise(requestAnimationFrame);
    }
    return performance.now() - start;
  });
  const [, to] = await visible(page, wire);
  assert.equal(to, 1_000);
  // Ten a second to begin, a few to end; that those who flew past are let go is one more or two.
  const most = Math.ceil((took / 1_000) * 14) + 5;
  assert.ok(wire.frames - before <= most, `${wire.frames - before} frames in ${took} ms, at most ${most}`);
});

test("a row that leaves the screen for a moment is not let go", async () => {
  const { page, wire } = await open();
  await page.evaluate(() => list(100));
  await visible(page, wire);
  const begun = () => wire.begun.filter(it => it === "user0").length;
  const leave = () =>
    page.evaluate(async () => {
      // Until the observer has told of it, which it does once a frame.
      const frames = async count => {
        for (let frame = 0; frame < count; frame++) await new Promise(requestAnimationFrame);
      };
      const start = performance.now();
      scrollTo(0, 1_000);
      await frames(3);
      scrollTo(0, 0);
      await frames(3);
      return performance.now() - start;
    });
  for (;;) {
    const before = begun();
    const took = await leave();
    await visible(page, wire);
    // Where so few frames take a second, the row was away for longer than it is held.
    if (took >= HELD) continue;
    assert.equal(begun(), before);
    return;
  }
});

test("a dot says how its user is, to eyes and to those who do not see it", async () => {
  const { page } = await open();
  await page.evaluate(() => dot({ user: "bo", name: "Bo Li" }));
  const dot = page.locator("green-dot");
  await page.getByRole("img", { name: "Bo Li is offline", exact: true }).waitFor();
  assert.equal(await dot.getAttribute("state"), "offline");
  const bo = await open("bo");
  await page.getByRole("img", { name: "Bo Li is online", exact: true }).waitFor();
  await bo.page.evaluate(() => presence.setMode("dnd"));
  await page.getByRole("img", { name: "Bo Li is not to be disturbed", exact: true }).waitFor();
  await page.evaluate(() => presence.close());
  await page.getByRole("img", { name: "Bo Li is not to be disturbed, as last heard", exact: true }).waitFor();
  assert.equal(await dot.evaluate(it => it.matches("green-dot[state=dnd][stale]")), true);
  // Another user in the same element is asked about anew.
  await page.evaluate(() => {
    presence.connect();
    document.querySelector("green-dot").user = "cy";
  });
  await page.getByRole("img", { name: "Bo Li is offline", exact: true }).waitFor();
});

test("each state has a look of its own, which style sheets may change; forced colours and still pictures are kept to", async () => {
  const { page } = await open();
  const style = "--green-dot-size: 40px; --green-dot-offline: rgb(1, 2, 3)";
  await page.evaluate(style => dot({ user: "bo", style }), style);
  await page.locator("green-dot[state=offline]").waitFor();
  const look = () =>
    page.evaluate(() => {
      const dot = document.querySelector("green-dot");
      const style = getComputedStyle(dot.shadowRoot.querySelector("[part]"));
      return { width: dot.offsetWidth, color: style.borderTopColor, transition: style.transitionDuration };
    });
  assert.deepEqual(await look(), { width: 40, color: "rgb(1, 2, 3)", transition: "0.2s, 0.2s" });
  // First: a change under way goes on as it began.
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.addStyleTag({ content: "green-dot::part(offline) { border-color: rgb(4, 5, 6) }" });
  assert.deepEqual(await look(), { width: 40, color: "rgb(4, 5, 6)", transition: "0s" });
  await page.emulateMedia({ forcedColors: "active" });
  const seen = await page.evaluate(() => {
    const shape = state => {
      const dot = document.querySelector("green-dot");
      dot.setAttribute("state", state);
      const { maskImage, borderTopStyle, borderTopWidth } = getComputedStyle(dot.shadowRoot.querySelector("[part]"));
      return [maskImage, borderTopStyle, borderTopWidth].join();
    };
    return ["online", "away", "busy", "dnd", "offline", "unknown"].map(shape);
  });
  assert.equal(new Set(seen).size, 6, "told apart without any colour");
});
