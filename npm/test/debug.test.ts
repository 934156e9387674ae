// The log of frames that `debug` turns on.

import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { logFrames } from "../src/debug.js";
import type { ClientFrame, ServerFrame } from "../src/protocol.js";
import { open, settled } from "./fake/client.js";
import { FakeEngine } from "./fake/engine.js";

class FakeSocket extends EventTarget {
  readonly sent: unknown[] = [];
  readonly url: string;
  constructor(url: string) {
    super();
    this.url = url;
  }
  send(data: unknown): void {
    this.sent.push(data);
  }
  says(data: unknown): void {
    this.dispatchEvent(new MessageEvent("message", { data }));
  }
}

const said: string[] = [];

beforeEach(() => {
  said.length = 0;
  vi.spyOn(console, "debug").mockImplementation(text => said.push(text));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const bytes = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], digits => Number.parseInt(digits, 16));

function logged(): FakeSocket {
  const socket = new FakeSocket("wss://chat.example/presence");
  logFrames(socket as unknown as WebSocket);
  return socket;
}

describe("the log of frames", () => {
  test("says every frame of the golden files by its name", () => {
    const file = new URL("../../protocol/vectors/v1/frames.jsonl", import.meta.url);
    const vectors: { from: string; bin: string; json: ClientFrame | ServerFrame }[] = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map(line => JSON.parse(line));
    expect(vectors.length).toBeGreaterThan(20);
    const socket = logged();
    for (const { from, bin, json } of vectors) {
      said.length = 0;
      if (from === "client") socket.send(bytes(bin));
      else socket.says(bytes(bin).buffer);
      expect(said).toHaveLength(1);
      expect(said[0]?.startsWith(`greendot ${from === "client" ? ">" : "<"} ${json.type}`)).toBe(true);
    }
  });

  test("shows what is in a frame, but neither token nor ticket", () => {
    const socket = logged();
    socket.send(bytes("0100057461622d310574306b336e"));
    expect(said.at(-1)).toBe('greendot > hello {"session":"tab-1","token":"5 bytes"}');
    socket.says(bytes("0407010113050268 69".replace(" ", "")).buffer);
    expect(said.at(-1)).toBe(
      'greendot < events {"epoch":7,"entries":[{"number":1,"state":"busy","version":5,"note":"hi"}]}',
    );
    socket.send(bytes("0a"));
    expect(said.at(-1)).toBe("greendot > bye");
    expect(socket.sent).toHaveLength(2);
  });

  test("says what cannot be read, and harms nothing", () => {
    const socket = logged();
    socket.says(bytes("0307").buffer);
    expect(said.at(-1)).toBe("greendot < unreadable (truncated): 03 07");
    socket.says(bytes("7f00").buffer);
    expect(said.at(-1)).toBe("greendot < kind 127, unknown here (2 bytes)");
    socket.says("a text");
    expect(said.at(-1)).toBe("greendot < a message that is no frame");
  });

  test("is there where an app asks for it, and nowhere else", async () => {
    vi.stubGlobal("WebSocket", FakeSocket);
    open();
    await settled();
    FakeEngine.last.host.socket("wss://chat.example/presence", "greendot.v1.bin");
    expect(said).toEqual([]);
    open({ debug: true });
    await vi.waitFor(() => expect(FakeEngine.all).toHaveLength(2), { timeout: 60_000 });
    FakeEngine.last.host.socket("wss://chat.example/presence", "greendot.v1.bin").send(bytes("0a"));
    expect(said).toEqual(["greendot dials wss://chat.example/presence", "greendot > bye"]);
  });
});
