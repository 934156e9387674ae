// What it costs a page that 50 users change: the shipped package, beside the same in plain JavaScript and beside Phoenix.
//
// Ours is the package as it is installed: a WebSocket message arrives, the wasm client decodes and applies it, and the
// app's listener is called with the views that changed. The socket is the only thing that is played. Plain JavaScript is
// what one would write by hand: JSON.parse, a Map with a version check, a listener. All of it in one run, in turns.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Presence } from "phoenix";
import { connect } from "../dist/index.node.js";

const { values: args } = parseArgs({ options: { quick: { type: "boolean" }, json: { type: "string" } } });

const WATCHED = 500;
const BATCH = 50;
/** What Phoenix keeps: everybody in the topic, not only those who are looked at. */
const PRESENT = 10_000;
const ROUNDS = args.quick ? 5 : 9;
const BATCHES = args.quick ? 200 : 2_000;
const STATES = ["online", "away", "busy", "dnd"];

const name = number => `user-${String(number).padStart(11, "0")}`;
const median = figures => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)];

/** Which users change in a batch: spread over all, another set each time. */
const member = (batch, at, among) => (batch * 7 + at * Math.floor(among / BATCH)) % among;

/** The changes of one round, before they are encoded; states and versions go on from round to round. */
let version = 1;
const states = new Uint8Array(WATCHED);
function changes() {
  return Array.from({ length: BATCHES }, (_, batch) => {
    version++;
    return Array.from({ length: BATCH }, (_, at) => {
      const number = member(batch, at, WATCHED);
      states[number] = (states[number] + 1) % STATES.length;
      return { number, state: states[number], version };
    });
  });
}

/** The changes that listeners were told of; each side must come to the same. */
let told = 0;

/** Runs one side over messages that are made beforehand; nanoseconds a change. */
async function timed(messages, take) {
  told = 0;
  const begin = process.hrtime.bigint();
  for (const message of messages) {
    take(message);
    // Ours tells its listeners in a microtask; so that all are alike, each message has a turn of its own.
    await undefined;
    await undefined;
  }
  const took = Number(process.hrtime.bigint() - begin) / (messages.length * BATCH);
  if (told !== messages.length * BATCH) throw new Error(`${told} changes were told, of ${messages.length * BATCH}`);
  return took;
}

// Ours.

const varint = number => {
  const bytes = [];
  for (; number >= 0x80; number >>>= 7) bytes.push((number & 0x7f) | 0x80);
  return [...bytes, number];
};
const frame = (kind, ...fields) => new Uint8Array([kind, ...fields.flat()]).buffer;
const EPOCH = 7;
/** By the protocol's numbers: 0 offline, then as in STATES. */
const entry = ({ number, state, version }) => [varint(number + 1), state + 1, varint(version)].flat();
const events = batch => frame(4, varint(EPOCH), varint(batch.length), batch.map(entry).flat());

async function ours() {
  let socket;
  globalThis.WebSocket = class {
    readyState = 0;
    constructor() {
      socket = this;
      queueMicrotask(() => {
        this.readyState = 1;
        this.onopen({ type: "open" });
        // A beat in an hour: nothing of it is measured.
        this.say(frame(1, 0, ...[3_600_000, 7_200_000, 10_000, 0].map(varint), 0, varint(EPOCH), 0, 0, 0));
        const all = Array.from({ length: WATCHED }, (_, number) => entry({ number, state: 0, version: 1 }));
        this.say(frame(3, 1, varint(EPOCH), varint(WATCHED), all.flat()));
      });
    }
    say(data) {
      this.onmessage({ type: "message", data });
    }
    addEventListener() {}
    send() {}
    close() {}
  };
  const presence = connect({ url: "ws://bench.example/presence", token: () => "token", headless: true });
  const stop = presence.watch(Array.from({ length: WATCHED }, (_, number) => name(number)), views => {
    told += views.length;
  });
  await new Promise(live => presence.onLink(link => link.state === "live" && live()));
  await new Promise(setImmediate);
  if (presence.get(name(3)).state !== "online") throw new Error("the snapshot was not taken");
  const end = () => {
    presence.close();
    // Nobody is left to be forgotten, and so no timer.
    stop();
  };
  return { take: data => socket.say(data), encode: events, end };
}

// Plain JavaScript.

function plain() {
  const store = new Map(
    Array.from({ length: WATCHED }, (_, number) => [name(number), { user: name(number), state: "online", version: 1 }]),
  );
  const listener = views => {
    told += views.length;
  };
  return {
    encode: batch =>
      JSON.stringify({
        type: "events",
        epoch: EPOCH,
        entries: batch.map(it => ({ user: name(it.number), state: STATES[it.state], version: it.version })),
      }),
    take(text) {
      const changed = [];
      for (const { user, state, version } of JSON.parse(text).entries) {
        const held = store.get(user);
        if (held === undefined || version <= held.version) continue;
        const view = { user, state, version };
        store.set(user, view);
        if (state !== held.state) changed.push(view);
      }
      if (changed.length > 0) listener(changed);
    },
  };
}

// Phoenix: its own Presence, with everybody present. Its messages are parsed beforehand: only the store is measured.

function phoenix() {
  const metas = new Map();
  const meta = (number, state, version) => ({ state: STATES[state], phx_ref: `F${number}-${version}` });
  let state = {};
  for (let number = 0; number < PRESENT; number++) {
    metas.set(number, meta(number, 0, 1));
    state[name(number)] = { metas: [metas.get(number)] };
  }
  return {
    encode(batch) {
      const [joins, leaves] = [{}, {}];
      for (const it of batch) {
        const number = member(it.version, batch.indexOf(it), PRESENT);
        const next = meta(number, it.state, it.version);
        joins[name(number)] = { metas: [next] };
        leaves[name(number)] = { metas: [metas.get(number)] };
        metas.set(number, next);
      }
      return { joins, leaves };
    },
    take(diff) {
      state = Presence.syncDiff(state, diff, () => told++, () => {});
    },
  };
}

const sides = { ours: await ours(), plain: plain(), phoenix: phoenix() };
const took = { ours: [], plain: [], phoenix: [] };
for (let round = -1; round < ROUNDS; round++) {
  const batches = changes();
  for (const [side, { encode, take }] of Object.entries(sides)) {
    // Phoenix takes so much longer that a tenth is enough to tell.
    const some = side === "phoenix" ? batches.slice(0, BATCHES / 10) : batches;
    const figure = await timed(some.map(encode), take);
    // The first round warms up.
    if (round >= 0) took[side].push(figure);
  }
}
sides.ours.end();

const ns = Object.fromEntries(Object.entries(took).map(([side, figures]) => [side, median(figures)]));
const rows = [
  ["apply_vs_js", `a change of ${BATCH}: applied and told, beside JSON + Map`, ns.plain, ns.ours / ns.plain, "<= 1", it => it <= 1],
  ["phoenix_vs_apply", `the same beside Phoenix' syncDiff, ${PRESENT} present`, ns.phoenix, ns.phoenix / ns.ours, ">= 10", it => it >= 10],
];
for (const [, what, baseline, figure, budget, holds] of rows) {
  const cells = [what.padEnd(58), ...[`${ns.ours.toFixed(0)} ns`, `${baseline.toFixed(0)} ns`].map(it => it.padStart(14))];
  console.log(...cells, figure.toFixed(3).padStart(9), budget.padStart(8), holds(figure) ? "met" : "MISSED");
}
if (args.json) writeFileSync(args.json, JSON.stringify(Object.fromEntries(rows.map(([key, , , figure]) => [key, figure]))));
