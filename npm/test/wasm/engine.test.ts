// The very module that pages load, behind the code that calls it. Only sockets and clocks are played.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { engineFrom } from "../../src/wasm.js";
import { server } from "./frames.js";
import { file, Page, stopClocks } from "./page.js";

beforeEach(stopClocks);
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("a client", () => {
  test("says hello and whom to watch when its socket opens", () => {
    const page = new Page();
    page.client.setMode(4);
    page.client.setNote("at home");
    page.client.device("Ana's phone ☎");
    page.client.subscribe(1, "ana");
    page.client.subscribe(1, "böß 🦊");
    page.client.connect();
    expect(page.take()).toEqual(["mode 4 0", "link 0 0 -1", "needToken 1"]);
    page.client.token(1, "t1");
    expect(page.socket).toMatchObject({ url: "ws://node0", protocol: "greendot.v1.bin", binaryType: "arraybuffer" });
    expect(page.socket.sent).toEqual([]);
    page.socket.opens();
    expect(page.socket.sent).toEqual([
      "hello s1 t1 invisible Ana's phone ☎",
      "note at home",
      "watch 1 1=ana 2=böß 🦊",
      // It may be where the page before it was.
      "leave 0",
    ]);
  });

  test("tells what the server says, and can be asked", () => {
    const page = new Page();
    const [ana, bo, cy] = ["ana", "bo", "cy"].map(user => page.client.subscribe(1, user)) as [number, number, number];
    expect([page.client.state(ana), page.client.seenAgoMs(ana), page.client.note(ana)]).toEqual([5, -1, undefined]);
    page.welcomed();
    page.take();
    const note = "at the dentist's ☕";
    page.socket.says(
      server.snapshot([
        { number: 1, state: "away", version: 3, note },
        { number: 2, state: "offline", version: 7, agoMs: 60_000 },
        { number: 3, state: "offline", version: 1, agoMs: 259_200_000, coarse: true },
      ]),
    );
    expect(page.take()).toEqual(["changed 1 0", "changed 1 1", "changed 1 2", "link 1 0 -1", "stale false"]);
    expect([page.client.state(ana), page.client.note(ana), page.client.note(bo)]).toEqual([2, note, undefined]);
    vi.advanceTimersByTime(500);
    expect([page.client.seenAgoMs(bo), page.client.seenAgoMs(cy)]).toEqual([60_500, -2 - 259_200_500]);
    expect([page.client.state(99), page.client.note(99), page.client.seenAgoMs(99)]).toEqual([5, undefined, -1]);
    page.socket.says(server.events([{ number: 1, state: "away", version: 4 }]));
    expect(page.take(), "the note is gone").toEqual(["changed 1 0"]);
    expect(page.client.note(ana)).toBeUndefined();
  });

  test("sends as one frame what is watched in one tick", async () => {
    const page = Page.live();
    const before = page.socket.sent.length;
    for (const user of ["bo", "cy", "di"]) page.client.subscribe(2, user);
    page.client.unsubscribe(2, page.client.subscribe(2, "ed"));
    expect(page.socket.sent).toHaveLength(before);
    await Promise.resolve();
    expect(page.socket.sent.slice(before)).toEqual(["watch 2 2=bo 3=cy 4=di"]);
    for (const row of [1, 2, 3]) page.client.unsubscribe(2, row);
    await pass(700);
    expect(page.socket.sent.slice(before + 1)).toEqual(["unwatch 2,3,4"]);
  });

  test("may be called from inside every callback", () => {
    const page = Page.live();
    page.when("changed 1 0", client => {
      expect(client.state(0)).toBe(2);
      client.unsubscribe(1, client.subscribe(1, "bo"));
      client.setNote("back soon");
    });
    page.socket.says(server.events([{ number: 1, state: "away", version: 2 }]));
    expect(page.socket.sent.at(-1)).toBe("note back soon");
    page.when("link 4 0 -1", client => client.connect());
    page.when("needToken 2", client => client.token(2, "t2"));
    page.client.disconnect();
    page.socket.opens();
    expect(page.socket.sent[0]).toBe("hello s1 t2 auto -");
    expect(page.take().filter(it => it.startsWith("link"))).toEqual(["link 4 0 -1", "link 0 0 -1"]);
  });

  test("has one connection after disconnect and connect inside the live callback", () => {
    const page = new Page();
    page.when("link 1 0 -1", client => {
      client.disconnect();
      client.connect();
    });
    page.welcomed();
    expect([page.socket.closedWith, page.socket.isHeard]).toEqual([1000, false]);
    page.client.token(2, "t2");
    expect(page.sockets).toHaveLength(2);
    page.socket.opens();
    page.socket.says(server.welcome());
    const states = page.take().filter(it => it.startsWith("link")).map(it => it[5]);
    expect(states).toEqual(["0", "1", "4", "0", "1"]);
  });

  test("waits when the link is lost, and comes back by itself", async () => {
    const page = Page.live();
    page.socket.ends(1006);
    const [stale, link = ""] = page.take();
    expect(stale).toBe("stale true");
    expect(link).toMatch(/^link 2 1006 \d+$/);
    const retry = Number(link.split(" ")[3]);
    expect(retry).toBeLessThanOrEqual(3_000);
    expect(page.client.state(0), "the view is kept").toBe(1);
    await pass(retry + 1);
    expect(page.take()).toEqual(["link 0 0 -1", "needToken 2"]);
    page.client.token(2, "t2");
    expect(page.sockets).toHaveLength(2);
  });

  test("stops at a code that says stop", () => {
    const page = Page.live();
    page.socket.ends(4409);
    expect(page.take()).toEqual(["stale true", "link 3 4409 -1"]);
    expect(vi.getTimerCount(), "the view is still to be forgotten").toBe(1);
    page.client.unsubscribe(1, 0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("does not hear a socket that opens after it was called off", () => {
    const page = new Page();
    page.client.connect();
    page.client.token(1, "t1");
    const calledOff = page.socket;
    page.client.disconnect();
    expect(calledOff.closedWith).toBe(4007);
    calledOff.opens();
    expect(calledOff.sent).toEqual([]);
    page.client.token(1, "late");
    expect(page.sockets, "nor is a late token taken").toHaveLength(1);
  });

  test("takes a URL that the browser refuses for a failed dial", () => {
    const page = new Page();
    page.url = () => "bad";
    page.client.connect();
    page.take();
    page.client.token(1, "t1");
    expect(page.take()[0]).toMatch(/^link 2 1006 /);
  });

  test("gives a connection up that brings what is no frame, and lives on", () => {
    const garbage: unknown[] = [[], [1], [4, 255, 255, 255, 255, 255, 255], [3, 0, 0, 127]].map(it => Uint8Array.from(it).buffer);
    for (const data of [...garbage, "a text", "1000000000", new Uint8Array(513 * 1024).fill(200).buffer]) {
      const page = Page.live();
      page.socket.onmessage?.({ data });
      expect(page.sockets[0]?.closedWith).toBe(4007);
      expect(page.take()[1]).toMatch(/^link 2 0 /);
    }
  });

  test("passes a frame of a later version over", () => {
    const page = Page.live();
    page.socket.says(Uint8Array.of(200, 1, 2, 3));
    expect([page.take(), page.socket.closedWith]).toEqual([[], undefined]);
  });

  test("shows signs of life, and keeps the link while they are answered", async () => {
    const page = new Page();
    page.client.connect();
    page.client.token(1, "t1");
    page.socket.opens();
    page.socket.says(server.welcome({ beatMs: 200 }));
    let answered = 0;
    for (let at = 0; at < 1_000; at += 10) {
      await pass(10);
      const beats = page.socket.frames.filter(it => it[0] === 2);
      for (const beat of beats.slice(answered)) page.socket.says(server.answer(beat[1] as number));
      answered = beats.length;
    }
    expect(answered).toBeGreaterThanOrEqual(4);
    expect(answered).toBeLessThanOrEqual(7);
    expect(page.socket.closedWith).toBeUndefined();
    await pass(6_000);
    expect(page.socket.closedWith, "nobody answers any more").toBe(4007);
  });

  test("only asks when the wall clock jumps ahead", () => {
    const page = Page.live();
    const real = Date.now();
    vi.setSystemTime(real + 3_600_000);
    page.client.input(false);
    expect(page.take()).toEqual(["stale true"]);
    expect(page.socket.sent.at(-1)).toBe("beat");
    page.socket.says(server.answer(1));
    expect(page.take()).toEqual(["stale false"]);
    vi.setSystemTime(real);
    page.client.input(true);
    expect(page.take(), "a jump back is no sleep").toEqual([]);
  });

  test("says closing when its page goes away, and dials when it is back", () => {
    const page = Page.live();
    page.client.page(6);
    expect(page.socket.sent.at(-1)).toBe("closing");
    expect(page.socket.closedWith).toBe(1000);
    expect(page.take()).toEqual(["stale true", "link 2 0 -1"]);
    page.client.page(7);
    page.client.connect();
    expect(page.take()).toEqual(["link 0 0 -1", "needToken 2"]);
  });

  test("hands the ticket of a connection that may be dead to a beacon", () => {
    const page = Page.live();
    page.client.page(4);
    page.client.page(6);
    expect(page.take()).toContain("beacon 0 ticket");
  });

  test("says what was not done, and about whom", () => {
    const page = Page.live();
    expect(page.client.subscribe(1, "x".repeat(129))).toBe(1);
    page.client.setNote("n".repeat(257));
    page.socket.says(server.error(2, 1, "zu viele"));
    const [user, note, watch] = page.take();
    expect(user).toMatch(/^error 1 1 a user's name has/);
    expect(note).toMatch(/^error 3 0 a note has/);
    expect(watch).toBe("error 2 0 zu viele");
  });

  test("stops where there is no token for this user, and tries again where it could not be had", () => {
    const page = new Page();
    page.client.connect();
    page.take();
    page.client.tokenFailed(1, false);
    expect(page.take()[0]).toMatch(/^link 2 /);
    page.client.connect();
    page.take();
    page.client.tokenFailed(2, true);
    expect(page.take()[0]).toMatch(/^link 3 4403 /);
  });

  test("keeps its rooms", () => {
    const page = Page.live();
    const room = page.client.join("page ☂");
    expect(page.socket.sent.at(-1)).toBe("join 1=page ☂");
    expect(page.client.room(room)).toBeUndefined();
    page.socket.says(server.room(1, [["ana", "online"], ["böß 🦊", "away"]]));
    expect(page.take()).toEqual(["room 0"]);
    expect(page.client.room(room)).toEqual({ count: -1, members: [["ana", 1], ["böß 🦊", 2]] });
    page.socket.says(server.crowd(1, 1_200_000, [["x".repeat(128), "dnd"]]));
    expect(page.client.room(room)).toEqual({ count: 1_200_000, members: [["x".repeat(128), 4]] });
    page.client.leave(room);
    expect(page.socket.sent.at(-1)).toBe("leave 1");
    expect(page.client.room(room)).toBeUndefined();
  });

  test("keeps apart from the others of its page", () => {
    const [one, other] = [Page.live(), new Page()];
    other.client.subscribe(7, "bo");
    one.socket.says(server.events([{ number: 1, state: "away", version: 2 }]));
    expect([one.take(), other.take()]).toEqual([["changed 1 0"], []]);
    expect([one.client.state(0), other.client.state(0)]).toEqual([2, 5]);
    expect(other.sockets).toEqual([]);
  });

  test("loses nothing when its host throws", () => {
    const page = Page.live();
    page.when("stale true", () => {
      throw new Error("the host has a fault");
    });
    expect(() => page.socket.ends(1006)).toThrow("the host has a fault");
    expect(vi.getTimerCount()).toBe(1);
    page.client.input(false);
    expect(page.take().some(it => it.startsWith("link 2 1006 "))).toBe(true);
    page.client.connect();
    page.client.token(2, "t2");
    page.socket.opens();
    page.socket.says(server.welcome(), server.snapshot([]));
    expect(page.client.state(0)).toBe(0);
  });

  test("reads frames as long as they may be, and the module's memory grows under it", () => {
    const page = new Page();
    page.client.subscribe(1, "ana");
    page.welcomed();
    page.take();
    const entries = Array.from({ length: 2_000 }, (_, at) => ({
      number: at + 1,
      state: "away" as const,
      version: 1,
      note: "n".repeat(250),
    }));
    const frame = server.snapshot(entries);
    expect(frame.length).toBeGreaterThan(500_000);
    page.socket.says(frame);
    expect(page.take()).toEqual(["changed 1 0", "link 1 0 -1", "stale false"]);
    expect(page.client.note(0)).toBe("n".repeat(250));
  });
});

describe("the module", () => {
  test("imports nothing and exports no more than is called", async () => {
    const module = await WebAssembly.compile(file);
    expect(WebAssembly.Module.imports(module)).toEqual([]);
    const exported = WebAssembly.Module.exports(module).map(it => it.name);
    expect(exported.sort()).toEqual(
      ["memory", "give", "told", "open", "free", "say", "poll", "due", "state", "seen", "note", "room"].sort(),
    );
  });

  test("is made from bytes, from a compiled module, and from responses of any type", async () => {
    const typed = new Response(file, { headers: { "Content-Type": "application/wasm" } });
    for (const source of [file, file.buffer, await WebAssembly.compile(file), typed, new Response(file)]) {
      expect(await engineFrom(source)).toBeTypeOf("function");
    }
    await expect(engineFrom(Uint8Array.of(1, 2, 3))).rejects.toThrow(WebAssembly.CompileError);
  });

  test("frees clients that nobody holds, and uses their memory again", async () => {
    const { memory, ...exports } = (await WebAssembly.instantiate(file)).instance.exports as {
      memory: WebAssembly.Memory;
    } & Record<"open" | "free" | "say" | "give", (...args: number[]) => number>;
    const round = () => {
      const client = exports.open(0, 0, 1, -1, 1, 2);
      for (let part = 0; part < 50; part++) {
        const at = exports.give(2);
        new Uint8Array(memory.buffer).set([0x41 + part, 0x42], at);
        exports.say(client, 0, 6, part, 0, 2);
      }
      exports.free(client);
      return client;
    };
    const first = round();
    const bytes = memory.buffer.byteLength;
    for (let n = 0; n < 1_000; n++) expect(round()).toBe(first);
    expect(memory.buffer.byteLength).toBe(bytes);
  });
});
