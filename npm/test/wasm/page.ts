import { readFile } from "node:fs/promises";
import { vi } from "vitest";
import type { Engine, EngineClass, Host } from "../../src/engine.js";
import { engineFrom } from "../../src/wasm.js";
import { readClient } from "../../src/wire.js";
import { server } from "./frames.js";

/** The module itself: `cargo xtask size` and the like build it. */
export const file: Uint8Array<ArrayBuffer> = new Uint8Array(
  await readFile(new URL("../../dist/wasm/client_bg.wasm", import.meta.url)),
);
const WasmClient: EngineClass = await engineFrom(file);

/** A socket that does what the test says. */
export class PlayedSocket {
  readonly url: string;
  readonly protocol: string;
  binaryType = "blob";
  onopen: ((event: object) => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  readonly frames: Uint8Array[] = [];
  closedWith: number | undefined;

  constructor(url: string, protocol: string) {
    if (url === "bad") throw new SyntaxError("no such URL");
    this.url = url;
    this.protocol = protocol;
  }

  send(bytes: Uint8Array): void {
    // A view into the module's memory: it has to be copied, as the real one does.
    this.frames.push(bytes.slice());
  }

  close(code: number): void {
    if (code !== 1000 && !(code >= 3000 && code <= 4999)) throw new DOMException("a reserved code", "InvalidAccessError");
    this.closedWith = code;
  }

  opens(): void {
    this.onopen?.({});
  }

  says(...frames: Uint8Array[]): void {
    for (const frame of frames) this.onmessage?.({ data: frame.slice().buffer });
  }

  ends(code: number): void {
    this.onclose?.({ code });
  }

  get isHeard(): boolean {
    return [this.onopen, this.onmessage, this.onclose].some(it => it !== null);
  }

  /** What it was given to send, in words. */
  get sent(): string[] {
    return this.frames.map(bytes => {
      const frame = readClient(bytes);
      switch (frame?.type) {
        case "hello":
          return `hello ${frame.session} ${frame.token} ${frame.mode?.mode ?? "-"} ${frame.device ?? "-"}`;
        case "watch":
          return `watch ${frame.request} ${frame.users.map(it => `${it.number}=${it.user}`).join(" ")}`;
        case "unwatch":
          return `unwatch ${frame.numbers}`;
        case "mode":
          return `mode ${frame.mode}`;
        case "note":
          return `note ${frame.note}`;
        case "join":
          return `join ${frame.number}=${frame.room}`;
        case "leave":
          return `leave ${frame.number}`;
        default:
          return String(frame?.type);
      }
    });
  }
}

/** A client over the real module, its host and its sockets. The host writes down what it is told. */
export class Page {
  readonly client: Engine;
  readonly sockets: PlayedSocket[] = [];
  url = (node: number): string => `ws://node${node}`;
  readonly #log: string[] = [];
  readonly #hooks: { entry: string; call: (client: Engine) => void }[] = [];

  constructor() {
    const told =
      (name: string) =>
      (...args: unknown[]) =>
        this.#told([name, ...args].join(" "));
    const host: Host = {
      needToken: told("needToken"),
      url: node => this.url(node),
      socket: (url, protocol) => {
        const socket = new PlayedSocket(url, protocol);
        this.sockets.push(socket);
        return socket as unknown as WebSocket;
      },
      changed: told("changed"),
      room: told("room"),
      link: told("link"),
      stale: told("stale"),
      mode: told("mode"),
      error: told("error"),
      beacon: told("beacon"),
    };
    this.client = new WasmClient(host, "s1", 2, -1, 1, 2);
  }

  /** A live client that watches ana as part 1, in row 0. */
  static live(): Page {
    const page = new Page();
    page.client.subscribe(1, "ana");
    page.welcomed();
    page.socket.says(server.snapshot([{ number: 1, state: "online", version: 1 }]));
    page.take();
    return page;
  }

  /** Connects it, up to the welcome. */
  welcomed(): void {
    this.client.connect();
    this.client.token(1, "t1");
    this.socket.opens();
    this.socket.says(server.welcome());
  }

  /** The newest socket. */
  get socket(): PlayedSocket {
    const socket = this.sockets.at(-1);
    if (socket === undefined) throw new Error("nothing was dialled");
    return socket;
  }

  /** What the host was told since this was last asked. */
  take(): string[] {
    return this.#log.splice(0);
  }

  /** Calls this once inside the callback that writes this entry. */
  when(entry: string, call: (client: Engine) => void): void {
    this.#hooks.push({ entry, call });
  }

  #told(entry: string): void {
    this.#log.push(entry);
    const at = this.#hooks.findIndex(hook => hook.entry === entry);
    if (at >= 0) this.#hooks.splice(at, 1)[0]?.call(this.client);
  }
}

/** Clocks and timers that stand still until a test moves them; microtasks are the real ones. */
export function stopClocks(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
}
