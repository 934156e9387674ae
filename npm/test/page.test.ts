// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import * as PAGE from "../src/page-events.js";
import { bindPage } from "../src/page.js";
import type { Stop } from "../src/types.js";
import { open, openLive, settled } from "./fake/client.js";
import { FakeEngine } from "./fake/engine.js";

const hooks = { page: vi.fn(), input: vi.fn() };
let unbind: Stop = () => {};

beforeEach(() => {
  hooks.page.mockClear();
  hooks.input.mockClear();
});
afterEach(() => unbind());

function visibility(state: DocumentVisibilityState): void {
  vi.spyOn(document, "visibilityState", "get").mockReturnValue(state);
}

/** An event with a time stamp of the test's choice. */
function touch(type: string, at: number, more: Partial<PointerEvent> = {}, target: EventTarget = document): void {
  const event = new Event(type, { bubbles: true });
  for (const [key, value] of Object.entries({ timeStamp: at, ...more })) Object.defineProperty(event, key, { value });
  target.dispatchEvent(event);
}

function persisted(is: boolean): Event {
  return Object.assign(new Event("pageshow"), { persisted: is });
}

describe("the life of the page", () => {
  test("is told by number", () => {
    unbind = bindPage(hooks);
    visibility("hidden");
    document.dispatchEvent(new Event("visibilitychange"));
    document.dispatchEvent(new Event("freeze"));
    document.dispatchEvent(new Event("resume"));
    visibility("visible");
    document.dispatchEvent(new Event("visibilitychange"));
    window.dispatchEvent(new Event("offline"));
    window.dispatchEvent(new Event("online"));
    window.dispatchEvent(new Event("pagehide"));
    window.dispatchEvent(persisted(true));
    const { hidden, frozen, resumed, visible, offline, online, left, back } = PAGE;
    const events = hooks.page.mock.calls.map(([event]) => event);
    expect(events).toEqual([hidden, frozen, resumed, visible, offline, online, left, back]);
  });

  test("has another kind of network under it: asked at once, but not for each estimate of its speed", () => {
    const network = Object.assign(new EventTarget(), { type: "wifi" });
    vi.stubGlobal("navigator", Object.create(navigator, { connection: { value: network } }));
    unbind = bindPage(hooks);
    network.dispatchEvent(new Event("change"));
    expect(hooks.page).not.toHaveBeenCalled();
    network.type = "cellular";
    network.dispatchEvent(new Event("change"));
    network.dispatchEvent(new Event("change"));
    expect(hooks.page.mock.calls).toEqual([[PAGE.online]]);
    vi.unstubAllGlobals();
  });

  test("begins with a pageshow that says nothing", () => {
    unbind = bindPage(hooks);
    window.dispatchEvent(persisted(false));
    expect(hooks.page).not.toHaveBeenCalled();
  });

  test("is watched without unload handlers, which would keep the page out of the back/forward cache", () => {
    const added = vi.spyOn(window, "addEventListener");
    unbind = bindPage(hooks);
    const types = added.mock.calls.map(([type]) => String(type));
    expect(types).toContain("pagehide");
    expect(types).not.toContain("unload");
    expect(types).not.toContain("beforeunload");
  });

  test("is no business of a closed client", () => {
    bindPage(hooks)();
    window.dispatchEvent(new Event("offline"));
    touch("keydown", 10_000);
    expect(hooks.page).not.toHaveBeenCalled();
    expect(hooks.input).not.toHaveBeenCalled();
  });

  test("is told to a client that comes later: hidden, offline", async () => {
    visibility("hidden");
    vi.spyOn(navigator, "onLine", "get").mockReturnValue(false);
    open();
    await settled();
    expect(FakeEngine.last.calls).toEqual([`page ${PAGE.hidden}`, `page ${PAGE.offline}`, "connect"]);
  });

  test("is told anew to a client that was closed meanwhile", async () => {
    const { client, engine } = await openLive();
    client.close();
    visibility("hidden");
    client.connect();
    expect(engine.calls.slice(-3)).toEqual([`page ${PAGE.hidden}`, `page ${PAGE.online}`, "connect"]);
  });

  test("reaches the wasm client, and not after close", async () => {
    const { client, engine } = await openLive();
    window.dispatchEvent(new Event("pagehide"));
    expect(engine.calls.at(-1)).toBe(`page ${PAGE.left}`);
    client.close();
    window.dispatchEvent(persisted(true));
    expect(engine.calls.at(-1)).toBe("disconnect");
    client.connect();
    window.dispatchEvent(persisted(true));
    expect(engine.calls.at(-1)).toBe(`page ${PAGE.back}`);
  });
});

describe("input", () => {
  test("is told once a second while it goes on, and at once after a pause", () => {
    unbind = bindPage(hooks);
    for (let at = 10_000; at < 13_000; at += 10) touch("pointermove", at, { movementX: 1, movementY: 0 });
    expect(hooks.input).toHaveBeenCalledTimes(3);
    touch("keydown", 900_000);
    expect(hooks.input).toHaveBeenCalledTimes(4);
  });

  test.each(["pointerdown", "keydown", "wheel", "touchstart"])("is %s", type => {
    unbind = bindPage(hooks);
    touch(type, 10_000);
    expect(hooks.input).toHaveBeenCalledOnce();
  });

  test("is not what the page does by itself: scrolling, moving under a pointer that lies still", () => {
    unbind = bindPage(hooks);
    touch("scroll", 10_000);
    touch("pointermove", 20_000, { movementX: 0, movementY: 0 });
    expect(hooks.input).not.toHaveBeenCalled();
  });

  test("counts where the app stops the event, too", () => {
    unbind = bindPage(hooks);
    const button = document.body.appendChild(document.createElement("button"));
    button.addEventListener("keydown", event => event.stopPropagation());
    touch("keydown", 10_000, {}, button);
    expect(hooks.input).toHaveBeenCalledOnce();
    button.remove();
  });

  test("is listened to without holding up the page", () => {
    const added = vi.spyOn(window, "addEventListener");
    unbind = bindPage(hooks);
    for (const [type, , options] of added.mock.calls) {
      if (["wheel", "touchstart"].includes(String(type))) expect(options).toMatchObject({ passive: true, capture: true });
    }
  });

  test("reaches the wasm client", async () => {
    const { engine } = await openLive();
    touch("keydown", 10_000);
    expect(engine.calls.at(-1)).toBe("input");
  });
});

describe("the tabs of a browser", () => {
  /** Channels that deliver at once; a closed one is gone. */
  class Channel {
    static open = new Set<Channel>();
    onmessage: (() => void) | undefined;

    constructor() {
      Channel.open.add(this);
    }

    postMessage(): void {
      for (const channel of Channel.open) if (channel !== this) channel.onmessage?.();
    }

    close(): void {
      Channel.open.delete(this);
    }
  }

  beforeEach(() => {
    Channel.open.clear();
    vi.stubGlobal("BroadcastChannel", Channel);
  });
  afterEach(() => vi.unstubAllGlobals());

  test("tell each other of input, each at most once a second", () => {
    unbind = bindPage(hooks);
    const other = new Channel();
    const heard = vi.fn();
    other.onmessage = heard;
    for (let at = 10_000; at < 13_000; at += 10) touch("keydown", at);
    expect(heard).toHaveBeenCalledTimes(3);
    other.postMessage();
    expect(hooks.input).toHaveBeenLastCalledWith(true);
  });

  test.each([
    ["pagehide", "pageshow"],
    ["freeze", "resume"],
  ])("do not hear each other between %s and %s, and hold no channel", (gone, back) => {
    unbind = bindPage(hooks);
    expect(Channel.open.size).toBe(1);
    const target = gone === "freeze" ? document : window;
    target.dispatchEvent(new Event(gone, { bubbles: true }));
    expect(Channel.open.size).toBe(0);
    target.dispatchEvent(new Event(back, { bubbles: true }));
    expect(Channel.open.size).toBe(1);
  });

  test("are left when the client is closed", async () => {
    const { client } = await openLive();
    client.close();
    expect(Channel.open.size).toBe(0);
  });

  test("count for themselves where there is no channel", async () => {
    vi.stubGlobal("BroadcastChannel", undefined);
    const { engine } = await openLive();
    touch("keydown", 10_000);
    expect(engine.calls.at(-1)).toBe("input");
  });
});

describe("the beacon", () => {
  test("goes to the node's own address, beside the socket", async () => {
    const sendBeacon = vi.fn();
    Object.defineProperty(navigator, "sendBeacon", { value: sendBeacon, configurable: true });
    const { engine } = await openLive({ url: "wss://chat.example/presence?room=1" });
    engine.host.beacon(0, "a ticket");
    expect(sendBeacon.mock.calls.map(([url, body]) => [String(url), body])).toEqual([
      ["https://chat.example/presence/closing?room=1", "a ticket"],
    ]);
  });
});
