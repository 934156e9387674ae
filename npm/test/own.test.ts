// A user's own sessions, asked for beside the wasm client on its connection.

import { beforeEach, describe, expect, test, vi } from "vitest";
import type { OwnSession } from "../src/types.js";
import { open, openLive, settled } from "./fake/client.js";
import { FakeEngine } from "./fake/engine.js";

class FakeSocket extends EventTarget {
  static readonly all: FakeSocket[] = [];
  readyState = 0;
  closed: number | undefined;
  readonly sent: string[] = [];

  constructor() {
    super();
    FakeSocket.all.push(this);
  }
  send(data: Uint8Array): void {
    this.sent.push(hex(data));
  }
  close(code: number): void {
    this.closed = code;
  }
  opens(): void {
    this.readyState = 1;
    this.dispatchEvent(new Event("open"));
  }
  says(frame: string): void {
    this.dispatchEvent(new MessageEvent("message", { data: bytes(frame).buffer }));
  }
}

const hex = (data: Uint8Array) => Array.from(data, byte => byte.toString(16).padStart(2, "0")).join("");
const bytes = (text: string) => Uint8Array.from(text.match(/../g) ?? [], digits => Number.parseInt(digits, 16));

/** "tab-1", which is here, idle, on the "phone", for a minute. */
const SESSIONS = "0d0109057461622d310570686f6e65e0d403";
const [ON, OFF] = ["0e01", "0e00"];

/** The wasm client opens a socket, and says hello from its own handler. */
function dials(engine: FakeEngine): FakeSocket {
  const socket = engine.host.socket("wss://chat.example/presence", "greendot.v1.bin") as unknown as FakeSocket;
  socket.addEventListener("open", () => socket.sent.push("hello"));
  return socket;
}

/** What is loaded at the first call has come. */
const loaded = () => vi.dynamicImportSettled();

beforeEach(() => {
  FakeSocket.all.length = 0;
  vi.stubGlobal("WebSocket", FakeSocket);
});

describe("own sessions", () => {
  test("are asked for behind the hello of each connection, while anybody listens", async () => {
    const { client, engine } = await openLive();
    const stop = client.onSessions(() => {});
    await loaded();
    const first = dials(engine);
    await settled();
    first.opens();
    expect(first.sent).toEqual(["hello", ON]);
    const second = dials(engine);
    await settled();
    second.opens();
    expect(second.sent).toEqual(["hello", ON]);
    stop();
    await settled();
    expect(second.sent).toEqual(["hello", ON, OFF]);
    const third = dials(engine);
    await settled();
    third.opens();
    expect(third.sent).toEqual(["hello"]);
  });

  test("are told as views, of the present connection only", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
    const { client, engine } = await openLive();
    const socket = dials(engine);
    socket.opens();
    const told: (readonly OwnSession[])[] = [];
    expect(client.sessions).toEqual([]);
    const stop = client.onSessions(sessions => told.push(sessions));
    await loaded();
    await settled();
    socket.says(SESSIONS);
    const own = { id: "tab-1", device: "phone", idle: true, lingering: false, passive: false, here: true };
    expect(told).toEqual([[{ ...own, since: new Date(940_000) }]]);
    expect(client.sessions).toBe(told[0]);
    dials(engine);
    socket.says(SESSIONS);
    expect(told).toHaveLength(1);
    stop();
    expect(client.sessions).toEqual([]);
    vi.useRealTimers();
  });

  test("are ended as soon as there is a connection, once", async () => {
    const { client, engine } = await openLive();
    client.endSession("tab-2");
    client.endSession("x".repeat(65));
    await loaded();
    const socket = dials(engine);
    await settled();
    socket.opens();
    const end = `0f05${hex(new TextEncoder().encode("tab-2"))}`;
    expect(socket.sent).toEqual(["hello", end]);
    const next = dials(engine);
    await settled();
    next.opens();
    expect(next.sent).toEqual(["hello"]);
    client.endSession("tab-2");
    await settled();
    expect(next.sent).toEqual(["hello", end]);
  });

  test("that cannot be read cost the connection, like any such frame", async () => {
    const { client, engine } = await openLive();
    client.onSessions(() => {});
    await loaded();
    const socket = dials(engine);
    socket.says(SESSIONS.slice(0, -4));
    expect(socket.closed).toBe(4007);
  });

  test("are nobody's on a server", () => {
    const client = open({ headless: false });
    expect(client.onSessions(() => {})).toBeTypeOf("function");
    client.endSession("tab-1");
    expect(client.sessions).toEqual([]);
  });
});

test("the device's name goes into the hello", async () => {
  open({ device: "phone" });
  await settled();
  expect(FakeEngine.last.calls).toEqual(["device phone", "connect"]);
  expect(() => open({ device: "" })).toThrow("64 bytes");
});
