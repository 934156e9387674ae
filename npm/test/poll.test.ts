import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { PollSocket } from "../src/poll.js";
import type { Poll, ServerFrame } from "../src/protocol.js";
import { readServer } from "../src/wire.js";

/** What the server is to answer, and what it was asked. */
let answer: (poll: Poll) => { status?: number; body: object } = () => ({ body: {} });
const asked: { url: string; poll: Poll; authorization: string | null }[] = [];
const probes: { onopen: (() => void) | null; close: () => void }[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  asked.length = probes.length = 0;
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    const poll = JSON.parse(String(init.body)) as Poll;
    asked.push({ url, poll, authorization: new Headers(init.headers).get("authorization") });
    const { status = 200, body } = answer(poll);
    return new Response(JSON.stringify(body), { status });
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const ascii = (text: string): number[] => [text.length, ...new TextEncoder().encode(text)];
const HELLO = Uint8Array.from([1, 0, ...ascii("tab"), ...ascii("t0k3n")]);
const watch = (request: number, number: number, user: string): Uint8Array =>
  Uint8Array.from([3, request, 1, number, ...ascii(user)]);

function opened(): { socket: PollSocket; heard: ServerFrame[]; closed: number[]; usable: boolean[] } {
  const [heard, closed, usable]: [ServerFrame[], number[], boolean[]] = [[], [], []];
  const probe = (): WebSocket => {
    const it = { onopen: null, close: vi.fn() };
    probes.push(it);
    return it as unknown as WebSocket;
  };
  const socket = new PollSocket("wss://chat.example/presence", probe, polls => usable.push(polls));
  socket.onopen = () => socket.send(HELLO);
  socket.onmessage = ({ data }) => {
    const frame = readServer(new Uint8Array(data));
    if (frame !== null) heard.push(frame);
  };
  socket.onclose = ({ code }) => closed.push(code);
  return { socket, heard, closed, usable };
}

const full = (...users: object[]) => ({ body: { full: true, mark: "m1", users } });

describe("polls in place of a socket", () => {
  test("greet, answer watches by snapshots, and then tell what changed", async () => {
    answer = poll => full(...poll.users.map(user => ({ user, state: "online" })));
    const { socket, heard, usable } = opened();
    await vi.advanceTimersByTimeAsync(1);
    expect(asked[0]).toEqual({
      url: "https://chat.example/presence/poll",
      poll: { users: [], session: "tab", interval_ms: 20_000 },
      authorization: "Bearer t0k3n",
    });
    expect(heard.map(it => it.type)).toEqual(["welcome"]);
    socket.send(watch(1, 1, "ana"));
    await vi.advanceTimersByTimeAsync(2_000);
    const online = { number: 1, state: "online", version: 1 };
    expect(heard[1]).toEqual({ type: "snapshot", request: 1, epoch: 1, entries: [online] });
    answer = poll => {
      expect(poll.mark).toBe("m1");
      return { body: { full: false, mark: "m2", users: [{ user: "ana", state: "offline", seen_ago_ms: 300 }] } };
    };
    await vi.advanceTimersByTimeAsync(20_000);
    const offline = { number: 1, state: "offline", version: 2, seen_ago_ms: 300 };
    expect(heard[2]).toEqual({ type: "events", epoch: 1, entries: [offline] });
    expect(usable).not.toContain(false);
    socket.close();
  });

  test("ask no more often than every 2 s, however much is watched, and beats cost nothing", async () => {
    answer = () => full();
    const { socket, heard } = opened();
    for (let number = 1; number <= 100; number++) {
      await vi.advanceTimersByTimeAsync(100);
      socket.send(watch(number, number, `u${number}`));
      socket.send(Uint8Array.from([2, number, 0]));
    }
    expect(asked.length).toBeLessThanOrEqual(6);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.length).toBeLessThanOrEqual(6 + 1 + 4);
    expect(heard.filter(it => it.type === "beat_answer").length).toBe(100);
    expect(heard.filter(it => it.type === "snapshot").length).toBe(100);
    socket.close();
    const before = asked.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.length).toBe(before);
  });

  test("are in the rooms that were joined, and tell who is there when that changes", async () => {
    const member = (user: string, state: string): object => ({ user, state });
    let rooms: object[] = [{ room: "page", members: [member("ana", "online"), member("bo", "away")] }];
    answer = () => ({ body: { full: true, mark: "m", users: [], rooms } });
    const { socket, heard } = opened();
    await vi.advanceTimersByTimeAsync(1);
    expect(asked[0]?.poll.rooms).toBeUndefined();
    socket.send(Uint8Array.from([12, 7, ...ascii("page")]));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(asked[1]?.poll.rooms).toEqual(["page"]);
    const told = { type: "room", number: 7, members: [member("ana", "online"), member("bo", "away")] };
    expect(heard.slice(1)).toEqual([told]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(heard.length).toBe(2);
    rooms = [{ room: "page", count: 130, members: [member("bo", "dnd")] }];
    await vi.advanceTimersByTimeAsync(20_000);
    expect(heard[2]).toEqual({ type: "crowd", number: 7, count: 130, sample: [member("bo", "dnd")] });
    rooms = [{ room: "page", refused: true, members: [] }];
    await vi.advanceTimersByTimeAsync(20_000);
    expect(heard[3]).toEqual({ type: "room", number: 7, members: [] });
    expect(heard[4]).toMatchObject({ type: "error", code: "not_allowed", about: 7 });
    socket.send(Uint8Array.from([13, 7]));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(asked.at(-1)?.poll.rooms).toEqual([]);
    socket.send(Uint8Array.from([12, 8, 0]));
    await vi.advanceTimersByTimeAsync(1);
    expect(heard.at(-1)).toMatchObject({ type: "error", code: "bad_room", about: 8 });
    socket.close();
  });

  test("who is invisible is so from the first poll on", async () => {
    answer = () => full();
    const { socket } = opened();
    socket.onopen = () => socket.send(Uint8Array.from([1, 0x60, ...ascii("tab"), ...ascii("t"), 4, 3]));
    await vi.advanceTimersByTimeAsync(1);
    expect(asked[0]?.poll.mode).toEqual({ mode: "invisible", revision: 3, fresh: true });
    await vi.advanceTimersByTimeAsync(20_000);
    expect(asked[1]?.poll.mode).toEqual({ mode: "invisible", revision: 3, fresh: false });
    socket.close();
  });

  test("end as a connection would", async () => {
    const cases = [
      [401, "bad_token", 4401],
      [403, "revoked", 4410],
      [503, "check_failed", 4004],
      [400, "bad_request", 4400],
      [404, undefined, 1006],
    ] as const;
    for (const [status, error, code] of cases) {
      answer = () => ({ status, body: { error } });
      const { closed, usable } = opened();
      await vi.advanceTimersByTimeAsync(1);
      expect(closed).toEqual([code]);
      expect(usable).toEqual(status === 404 ? [false] : []);
    }
    answer = () => full();
    const { closed } = opened();
    await vi.advanceTimersByTimeAsync(1);
    answer = () => ({ status: 401, body: { error: "bad_token" } });
    await vi.advanceTimersByTimeAsync(20_000);
    expect(closed).toEqual([4003]);
  });

  test("give way to sockets when there is no answer, and when one opens", async () => {
    answer = () => {
      throw new TypeError("no network");
    };
    const lost = opened();
    await vi.advanceTimersByTimeAsync(1);
    expect([lost.closed, lost.usable]).toEqual([[1006], [false]]);
    answer = () => full();
    const { closed, usable } = opened();
    await vi.advanceTimersByTimeAsync(50_000);
    expect(probes.length).toBe(5);
    probes.at(-1)?.onopen?.();
    expect([closed, usable.at(-1)]).toEqual([[1006], false]);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(probes.length).toBe(5);
  });
});
