// What stands in for a WebSocket where none opens: it speaks to the wasm half as a server would, and to the server by polls
// (protocol/PROTOCOL.md, "Polling"). Loaded only when it comes to that.

import {
  type ClientFrame,
  type CloseName,
  MODES,
  type ModeChoice,
  type Poll,
  type Polled,
  type PolledRoom,
  type PolledUser,
  STATES,
} from "./protocol.js";
import { byteLength, USER_BYTES } from "./bytes.js";
import { closeCode } from "./codes.js";
import { besideSocket } from "./url.js";
import { readClient } from "./wire.js";

/** How often it asks, in ms; up to a fifth sooner, at random, so that pages do not ask in step. */
const INTERVAL = 20_000;

/** The shortest time between two questions, in ms: a page that scrolls watches others all the time. */
const SHORTEST = 2_000;

/** Rooms that a session may be in. */
const ROOMS = 32;

/** How long an answer may take, in ms. */
const PATIENCE = 8_000;

/**
 * When it is first tried whether a WebSocket opens by now, in ms, and the longest that it comes to, doubling. Soon at first:
 * a server that was down for a while may have come back between the last socket and the first poll.
 */
const FIRST_TRY = 1_000;
const LAST_TRY = 300_000;

/** WebSocket's code for a connection that broke. */
const LOST = 1006;

/** The wasm half comes back with a fresh token after it. */
const TOKEN_EXPIRED = closeCode("token_expired");

/** Statuses of answers that mean the end, and the close codes that a connection would have had. */
const ENDS: Readonly<Record<number, CloseName>> = { 400: "bad_frame", 413: "too_large", 503: "full" };

/** What the wasm half needs of a WebSocket. */
export class PollSocket {
  readyState = 0;
  binaryType = "arraybuffer";
  onopen: ((event: object) => void) | null = null;
  onmessage: ((event: { data: ArrayBuffer }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;

  readonly #address: string;
  readonly #socket: () => WebSocket;
  readonly #usable: (polls: boolean) => void;
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #hello: Extract<ClientFrame, { type: "hello" }> | undefined;
  #mode: ModeChoice | undefined;
  #idle: boolean | undefined;
  /** Names by the wasm half's numbers, and what was told of each number last. */
  readonly #names = new Map<number, string>();
  readonly #versions = new Map<number, number>();
  /** Rooms by the wasm half's numbers, and what was told of each number last. */
  readonly #rooms = new Map<number, string>();
  readonly #roomsTold = new Map<number, string>();
  /** Whether the server was ever told of rooms: then it is to be told, too, that there are none any more. */
  #hadRooms = false;
  /** Watches that have no snapshot yet. */
  readonly #asked = new Map<number, number[]>();
  #mark: { of: string; is: string } | undefined;
  #welcomed = false;
  #asking = false;
  /** Whether there is more to ask than the question under way does. */
  #more = false;
  #next: ReturnType<typeof setTimeout> | undefined;
  #askedAt = -Infinity;
  #probe: WebSocket | undefined;

  /** `socket` opens a real one to the same node; `usable` is told whether polls or sockets are to be tried next. */
  constructor(url: string, socket: () => WebSocket, usable: (polls: boolean) => void) {
    this.#address = besideSocket(url, "poll").href;
    this.#socket = socket;
    this.#usable = usable;
    this.#in(0, () => {
      this.readyState = 1;
      this.onopen?.({});
    });
    this.#try(FIRST_TRY);
  }

  send(bytes: Uint8Array): void {
    const frame = readClient(bytes);
    switch (frame?.type) {
      case "hello":
        this.#hello = frame;
        this.#mode = frame.mode;
        this.#idle = frame.idle;
        return this.#ask(0);
      case "beat":
        // Whether the server is there the polls tell.
        return this.#tell([2, frame.number]);
      case "watch":
        for (const { number, user } of frame.users) {
          this.#versions.delete(number);
          if (isName(user)) this.#names.set(number, user);
          else this.#tell(new Frame(6).byte(1).number(number).text(`a name has 1 to ${USER_BYTES} bytes`).bytes);
        }
        this.#asked.set(frame.request, frame.users.map(it => it.number));
        return this.#ask(0);
      case "unwatch":
        for (const number of frame.numbers) this.#names.delete(number);
        return;
      case "join":
        this.#roomsTold.delete(frame.number);
        if (isName(frame.room)) this.#rooms.set(frame.number, frame.room);
        else this.#tell(new Frame(6).byte(5).number(frame.number).text(`a room's id has 1 to ${USER_BYTES} bytes`).bytes);
        return this.#ask(0);
      case "leave":
        this.#rooms.delete(frame.number);
        return this.#ask(0);
      case "mode":
        this.#mode = { mode: frame.mode, fresh: true };
        this.#tell([5, MODES.indexOf(frame.mode), 0]);
        return this.#ask(0);
      case "idle":
      case "active":
        this.#idle = frame.type === "idle";
        return this.#ask(0);
      default:
    }
  }

  close(): void {
    this.readyState = 3;
    clearTimeout(this.#next);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#probe?.close();
  }

  #end(code: number): void {
    if (this.readyState === 3) return;
    this.close();
    this.onclose?.({ code });
  }

  #in(ms: number, what: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      what();
    }, ms);
    this.#timers.add(timer);
  }

  /** Now and then, whether a WebSocket opens by now: then the next dial is one. */
  #try(ms: number): void {
    this.#in(ms, () => {
      this.#probe = this.#socket();
      this.#probe.onopen = () => {
        this.#usable(false);
        this.#end(LOST);
      };
      this.#try(Math.min(2 * ms, LAST_TRY));
    });
  }

  /** The next question comes after this time, or as soon as it may. */
  #ask(ms: number): void {
    if (this.#asking) {
      this.#more ||= ms === 0;
      return;
    }
    clearTimeout(this.#next);
    const soonest = this.#askedAt + SHORTEST - performance.now();
    this.#next = setTimeout(() => void this.#poll(), Math.max(ms, soonest, 0));
  }

  async #poll(): Promise<void> {
    const hello = this.#hello;
    if (hello === undefined || this.readyState !== 1) return;
    this.#asking = true;
    this.#more = false;
    this.#askedAt = performance.now();
    const asked = new Map(this.#asked);
    const users = [...new Set(this.#names.values())].slice(0, 1000);
    const of = JSON.stringify(users);
    const poll: Poll = { users, session: hello.session, interval_ms: INTERVAL };
    // Who waits for a snapshot needs everything.
    if (this.#mark?.of === of && asked.size === 0) poll.mark = this.#mark.is;
    const rooms = [...new Set(this.#rooms.values())].slice(0, ROOMS);
    this.#hadRooms ||= rooms.length > 0;
    if (this.#hadRooms) poll.rooms = rooms;
    if (this.#idle !== undefined) poll.idle = this.#idle;
    if (this.#mode !== undefined) poll.mode = this.#mode;
    const mode = this.#mode;
    try {
      const answer = await fetch(this.#address, {
        method: "POST",
        headers: { authorization: `Bearer ${hello.token}`, "content-type": "application/json" },
        body: JSON.stringify(poll),
        cache: "no-store",
        signal: AbortSignal.timeout(PATIENCE),
      });
      if (answer.ok) {
        const polled = (await answer.json()) as Polled;
        if (this.readyState !== 1) return;
        // Told and taken once, it is no new choice any more.
        if (mode !== undefined && this.#mode === mode) this.#mode = { ...mode, fresh: false };
        this.#mark = { of, is: polled.mark };
        this.#usable(true);
        this.#answer(polled, asked);
      } else if (answer.status === 429) {
        // Other pages of this user have asked, too: the next question comes in its time.
        this.#more = false;
      } else {
        return this.#refused(answer.status, await answer.json().catch(() => undefined));
      }
    } catch {
      // No network, or no server: by the next dial either may be there, and sockets, too.
      this.#usable(false);
      return this.#end(LOST);
    } finally {
      this.#asking = false;
    }
    this.#ask(this.#more ? 0 : INTERVAL * (1 - Math.random() / 5));
  }

  #refused(status: number, body: { error?: string } | undefined): void {
    // A server that knows no polls is no reason to ask it again for them.
    if (status === 404 || status === 405) this.#usable(false);
    if (status === 401 && this.#welcomed) return this.#end(TOKEN_EXPIRED);
    this.#end(closeCode(body?.error) ?? closeCode(ENDS[status]) ?? LOST);
  }

  #answer(polled: Polled, asked: ReadonlyMap<number, readonly number[]>): void {
    if (!this.#welcomed) {
      this.#welcomed = true;
      const { session, mode } = this.#hello ?? { session: "" };
      const welcome = new Frame(1).byte(0);
      for (const ms of [INTERVAL, 2 * INTERVAL + PATIENCE, SHORTEST, 600_000]) welcome.number(ms);
      welcome.text(session).number(1).byte(MODES.indexOf(mode?.mode ?? "auto")).number(mode?.revision ?? 0).byte(0).byte(0);
      this.#tell(welcome.bytes);
    }
    const by = new Map(polled.users.map(it => [it.user, it]));
    const fresh = new Set([...asked.values()].flat());
    for (const [request, numbers] of asked) {
      this.#asked.delete(request);
      this.#tell(this.#entries(new Frame(3).number(request), numbers, by, false));
    }
    const old = [...this.#names.keys()].filter(number => !fresh.has(number));
    const told = old.filter(number => polled.full || by.has(this.#names.get(number) ?? ""));
    if (told.length > 0) this.#tell(this.#entries(new Frame(4), told, by, polled.full));
    for (const room of polled.rooms ?? []) this.#answerRoom(room);
  }

  /** A room is told whole each time; it is passed on when it looks otherwise than before. */
  #answerRoom(room: PolledRoom): void {
    const text = JSON.stringify(room);
    for (const [number, id] of this.#rooms) {
      if (id !== room.room || this.#roomsTold.get(number) === text) continue;
      this.#roomsTold.set(number, text);
      const frame = new Frame(room.count === undefined ? 10 : 12).number(number);
      if (room.count !== undefined) frame.number(room.count);
      frame.number(room.members.length);
      for (const { user, state } of room.members) frame.byte(Math.max(STATES.indexOf(state), 0)).text(user);
      this.#tell(frame.bytes);
      if (room.refused)
        this.#tell(new Frame(6).byte(7).number(number).text("the room is not open to this user").bytes);
    }
  }

  #entries(frame: Frame, numbers: readonly number[], by: ReadonlyMap<string, PolledUser>, all: boolean): number[] {
    const rows = numbers.flatMap(number => {
      const name = this.#names.get(number);
      const user = by.get(name ?? "") ?? (all && name !== undefined ? OFFLINE : undefined);
      return user === undefined ? [] : [{ number, user }];
    });
    frame.number(1).number(rows.length);
    for (const { number, user } of rows) {
      const version = (this.#versions.get(number) ?? 0) + 1;
      this.#versions.set(number, version);
      const seen = user.seen_ago_ms;
      const head = STATES.indexOf(user.state);
      const flags = (seen === undefined ? 0 : user.coarse ? 0x28 : 0x08) | (user.note ? 0x10 : 0);
      frame.number(number).byte((head < 0 ? STATES.indexOf("unknown") : head) | flags).number(version);
      if (seen !== undefined) frame.number(seen);
      if (user.note) frame.text(user.note);
    }
    return frame.bytes;
  }

  #tell(bytes: readonly number[]): void {
    // Never inside a call of the wasm half.
    queueMicrotask(() => {
      if (this.readyState === 1) this.onmessage?.({ data: Uint8Array.from(bytes).buffer });
    });
  }
}

const isName = (user: string): boolean => user !== "" && byteLength(user) <= USER_BYTES;

const OFFLINE: PolledUser = { user: "", state: "offline" };

/** A frame in the binary encoding. */
class Frame {
  readonly bytes: number[];

  constructor(kind: number) {
    this.bytes = [kind];
  }

  byte(byte: number): this {
    this.bytes.push(byte);
    return this;
  }

  number(value: number): this {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.bytes.push((rest % 0x80) + 0x80);
    return this.byte(rest);
  }

  text(text: string): this {
    const bytes = new TextEncoder().encode(text);
    this.number(bytes.length).bytes.push(...bytes);
    return this;
  }
}
