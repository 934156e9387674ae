import type { Engine, EngineClass, Host, PageEvent, RoomWord } from "./engine.js";
import type { WasmSource } from "./load.js";
import * as PAGE from "./page-events.js";
import {
  CLOSED,
  CONNECT,
  DEVICE,
  DISCONNECT,
  FRAME,
  INPUT,
  INPUT_ELSEWHERE,
  IS_BEACON,
  IS_CHANGED,
  IS_CLOSE,
  IS_DIAL,
  IS_ERROR,
  IS_LINK,
  IS_MODE,
  IS_NEED_TOKEN,
  IS_ROOM,
  IS_SEND,
  IS_STALE,
  JOIN,
  LEAVE,
  MODE,
  NOTE,
  NOT_ALLOWED,
  OPENED,
  PAGE_EVENT,
  SIGN_OUT,
  SUBSCRIBE,
  TIMEOUT,
  TOKEN,
  TOKEN_FAILED,
  UNSUBSCRIBE,
} from "./wasm-numbers.js";

/**
 * The wasm file's exports: `client-wasm/src/face` is the other side and says what they do. All that they take and give is
 * numbers; a text or a frame is bytes in memory. They call nothing, so whatever is done about an output may call them.
 */
interface Exports {
  memory: WebAssembly.Memory;
  give(size: number): number;
  told(): number;
  open(now: number, size: number, nodes: number, idleAfterSecs: number, seed: number, seed2: number): number;
  free(client: number): void;
  say(client: number, now: number, kind: number, a: number, b: number, size: number): number;
  poll(client: number): number;
  due(client: number): number;
  state(client: number, row: number): number;
  seen(client: number, now: number, row: number): number;
  note(client: number, row: number): void;
  room(client: number, room: number): void;
}

/** The longest frame of a server, in bytes. One beyond it is left unread, which is no frame either. */
const SERVER_FRAME_BYTES = 524_288;

/** WebSocket's code for a connection that did not come about. */
const NOT_OPENED = 1006;

/** More than the two clocks drift apart between two reads, and less than a sleep that matters, in ms. */
const JUMP_MS = 2_000;

/** `setTimeout` takes 31 bits and fires at once beyond; firing too early is no trouble. */
const LONGEST_MS = 0x7fffffff;

/** What a client that is collected leaves to be given back. */
interface Held {
  readonly client: number;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** Compiles the wasm file, as it streams in where it is served with its type, and makes the class over it. */
export async function engineFrom(source: Exclude<WasmSource, string | URL>): Promise<EngineClass> {
  const code = source instanceof Response ? await codeOf(source) : source;
  const made: WebAssembly.Instance | WebAssembly.WebAssemblyInstantiatedSource = await WebAssembly.instantiate(code as BufferSource);
  return engineOf(("instance" in made ? made.instance : made).exports as unknown as Exports);
}

/** Browsers stream nothing that comes under another type. */
function codeOf(response: Response): Promise<WebAssembly.Module | ArrayBuffer> {
  const streams = response.headers.get("Content-Type") === "application/wasm";
  return streams ? WebAssembly.compileStreaming(response) : response.arrayBuffer();
}

function engineOf(wasm: Exports): EngineClass {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** What the module tells: three numbers, then where its bytes lie and how many they are. */
  let told = new Int32Array(0);

  /** One of those numbers. */
  function number(at: number): number {
    // The old view is empty once the memory has grown.
    if (told.length === 0) told = new Int32Array(wasm.memory.buffer, wasm.told(), 5);
    return told[at] as number;
  }

  /** Those bytes; good until the next call. */
  function bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(wasm.memory.buffer as ArrayBuffer, number(3), number(4));
  }

  /** Hands a text in; returns its size. */
  function giveText(text: string): number {
    return giveBytes(encoder.encode(text));
  }

  function giveBytes(given: ArrayLike<number>): number {
    const at = wasm.give(given.length);
    new Uint8Array(wasm.memory.buffer).set(given, at);
    return given.length;
  }

  const forgotten = new FinalizationRegistry<Held>(({ client, timer }) => {
    clearTimeout(timer);
    wasm.free(client);
  });

  return class WasmClient implements Engine {
    readonly #host: Host;
    readonly #client: number;
    readonly #held: Held;
    /** The wall clock less the steady one, in ms. */
    #offset = Infinity;
    /** When the timer is to fire. */
    #due = Infinity;
    #dial = 0;
    #socket: WebSocket | undefined;

    constructor(host: Host, session: string, nodes: number, idleAfterSecs: number, seed: number, seed2: number) {
      this.#host = host;
      this.#client = wasm.open(steadyNow(), giveText(session), nodes, idleAfterSecs, seed, seed2);
      this.#held = { client: this.#client, timer: undefined };
      forgotten.register(this, this.#held);
    }

    device(name: string): void {
      this.#say(DEVICE, 0, 0, giveText(name));
    }

    connect(): void {
      this.#say(CONNECT);
    }

    disconnect(): void {
      this.#say(DISCONNECT);
    }

    signOut(): void {
      this.#say(SIGN_OUT);
    }

    subscribe(part: number, user: string): number {
      return this.#say(SUBSCRIBE, part, 0, giveText(user));
    }

    unsubscribe(part: number, row: number): void {
      this.#say(UNSUBSCRIBE, part, row);
    }

    join(room: string): number {
      return this.#say(JOIN, 0, 0, giveText(room));
    }

    leave(room: number): void {
      this.#say(LEAVE, room);
    }

    room(room: number): RoomWord | undefined {
      wasm.room(this.#client, room);
      if (number(0) === 0) return undefined;
      const count = number(1) - 1;
      const all = bytes();
      const members: [string, number][] = [];
      for (let at = 0; at < all.length; ) {
        const end = all.indexOf(0xff, at);
        members.push([decoder.decode(all.subarray(at + 1, end)), all[at] as number]);
        at = end + 1;
      }
      return { count, members };
    }

    setMode(mode: number, revision?: number): void {
      this.#say(MODE, mode, revision);
    }

    setNote(note: string): void {
      this.#say(NOTE, 0, 0, giveText(note));
    }

    page(event: PageEvent): void {
      this.#say(PAGE_EVENT, event);
    }

    input(elsewhere: boolean): void {
      this.#say(elsewhere ? INPUT_ELSEWHERE : INPUT);
    }

    token(dial: number, token: string): void {
      this.#say(TOKEN, dial, 0, giveText(token));
    }

    tokenFailed(dial: number, notAllowed: boolean): void {
      this.#say(notAllowed ? NOT_ALLOWED : TOKEN_FAILED, dial);
    }

    state(row: number): number {
      return wasm.state(this.#client, row);
    }

    seenAgoMs(row: number): number {
      return wasm.seen(this.#client, steadyNow(), row);
    }

    note(row: number): string | undefined {
      wasm.note(this.#client, row);
      // Few have one, and each view is made with a look here.
      return number(4) === 0 ? undefined : decoder.decode(bytes());
    }

    /** One input, then all that follows from it. */
    #say(kind: number, a = 0, b = 0, size = 0): number {
      const now = steadyNow();
      // Some machines stop the steady clock while they sleep, and then only the wall clock tells. That may also have been
      // set by hand, which is why a jump of it never means more than to ask whether the link is still there.
      const offset = Date.now() - now;
      if (offset - this.#offset > JUMP_MS) wasm.say(this.#client, now, PAGE_EVENT, PAGE.resumed, 0, 0);
      this.#offset = offset;
      const answer = wasm.say(this.#client, now, kind, a, b, size);
      // Before anything is told: a callback that throws must not leave the client without.
      this.#wake(now, wasm.due(this.#client));
      // What a callback causes is done inside that callback, and the order of things stays the module's.
      for (let output = wasm.poll(this.#client); output !== 0; output = wasm.poll(this.#client)) this.#obey(output);
      return answer;
    }

    /** The timer, which is moved only when it would fire too late. */
    #wake(now: number, due: number): void {
      if (due < Infinity && this.#due <= due) return;
      clearTimeout(this.#held.timer);
      this.#due = due;
      // Behind the code that is running, and not held back in hidden pages as timers are.
      if (due <= now) queueMicrotask(() => this.#late());
      else if (due < Infinity) {
        const most = Math.min(due - now, LONGEST_MS);
        this.#held.timer = setTimeout(WasmClient.#fired, most, new WeakRef(this));
      }
    }

    /** Not made inside a method: a function made there holds `this` if any other one does, and a timer must not. */
    static #fired(weak: WeakRef<WasmClient>): void {
      const client = weak.deref();
      if (client) client.#late();
    }

    #late(): void {
      this.#due = Infinity;
      this.#say(TIMEOUT);
    }

    #obey(output: number): void {
      const host = this.#host;
      const a = number(0);
      const b = number(1);
      switch (output) {
        case IS_CHANGED:
          return host.changed(a, b);
        case IS_ROOM:
          return host.room(a);
        case IS_NEED_TOKEN:
          return host.needToken(a);
        case IS_DIAL:
          return this.#open(a, b);
        case IS_SEND:
          if (a === this.#dial) this.#socket?.send(bytes());
          return;
        case IS_CLOSE:
          if (a === this.#dial) this.#forget()?.close(b);
          return;
        case IS_LINK:
          return host.link(a, b, number(2));
        case IS_STALE:
          return host.stale(a !== 0);
        case IS_MODE:
          return host.mode(a, b);
        case IS_BEACON:
          return host.beacon(a, decoder.decode(bytes()));
        case IS_ERROR:
          return host.error(a, b, decoder.decode(bytes()));
      }
    }

    #open(dial: number, node: number): void {
      let socket: WebSocket;
      try {
        socket = this.#host.socket(this.#host.url(node), "greendot.v1.bin");
      } catch {
        this.#say(CLOSED, dial, NOT_OPENED);
        return;
      }
      socket.binaryType = "arraybuffer";
      socket.onopen = () => void this.#say(OPENED, dial);
      socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
        const frame = typeof data === "string" || data.byteLength > SERVER_FRAME_BYTES ? [] : new Uint8Array(data);
        this.#say(FRAME, dial, 0, giveBytes(frame));
      };
      socket.onclose = ({ code }) => {
        this.#forget();
        this.#say(CLOSED, dial, code);
      };
      this.#dial = dial;
      this.#socket = socket;
    }

    /** Hears no more of the connection. One that has ended must not be closed with the code it ended with: that throws. */
    #forget(): WebSocket | undefined {
      const socket = this.#socket;
      this.#socket = undefined;
      if (socket) socket.onopen = socket.onmessage = socket.onclose = null;
      return socket;
    }
  };
}

/** In whole milliseconds, as the module counts. */
function steadyNow(): number {
  return Math.floor(performance.now());
}
