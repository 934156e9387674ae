import type { PageEvent } from "./engine.js";
import * as PAGE from "./page-events.js";
import type { Stop } from "./types.js";

/** What the page tells. */
export interface PageHooks {
  page(event: PageEvent): void;
  /** The person touched this page, or another one of this browser; called at most once a second by each. */
  input(elsewhere: boolean): void;
}

/** Which kind of network there is, where a browser tells: Chromium on phones. */
type Network = EventTarget & { type?: string };

/** Input within this time of the last one told says nothing new. After a longer pause the first is told at once. */
const INPUT_EVERY_MS = 1_000;

/**
 * What a person does to a page. `scroll` is not among them: pages scroll themselves (a chat, at each message), and
 * where a person scrolls there is a wheel, a touch, a key or a pressed pointer too.
 */
const INPUT_EVENTS = ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"] as const;

/**
 * Listens to the life of the page, or worker, and to the person at it. There are no `unload` handlers: they would keep
 * the page out of the back/forward cache.
 */
export function bindPage(hooks: PageHooks): Stop {
  const ends = new AbortController();
  const { signal } = ends;
  const on = (target: EventTarget, type: string, heard: (event: Event) => void) =>
    target.addEventListener(type, heard, { signal, capture: true, passive: true });
  const tell = (event: PageEvent) => () => hooks.page(event);

  // Pages of this browser tell each other of input. A page that is frozen or left says and hears nothing: an open channel
  // would keep it out of the back/forward cache, and what had waited in it would be old.
  let channel: BroadcastChannel | undefined;
  const talk = () => {
    channel ??= openChannel(() => hooks.input(true));
  };
  const hush = () => {
    channel?.close();
    channel = undefined;
  };

  // Node is no event target.
  if (typeof addEventListener === "function") {
    on(globalThis, "offline", tell(PAGE.offline));
    on(globalThis, "online", tell(PAGE.online));
  }
  // From wifi to mobile, say: no `online` comes with it. The estimates of speed, which change all the time, say nothing.
  const network = typeof navigator === "undefined" ? undefined : (navigator as { connection?: Network }).connection;
  if (network?.type !== undefined) {
    let type: string | undefined = network.type;
    on(network, "change", () => {
      if (network.type === type) return;
      type = network.type;
      // To "none": `offline` comes with that.
      if (navigator.onLine) hooks.page(PAGE.online);
    });
  }
  if (typeof document !== "undefined") {
    on(document, "visibilitychange", () => hooks.page(visibility()));
    on(document, "freeze", tell(PAGE.frozen));
    on(document, "resume", tell(PAGE.resumed));
    on(window, "pagehide", tell(PAGE.left));
    on(window, "pageshow", event => (event as PageTransitionEvent).persisted && hooks.page(PAGE.back));
    for (const type of ["freeze", "pagehide"]) on(window, type, hush);
    for (const type of ["resume", "pageshow"]) on(window, type, talk);
    // Captured, so that a handler of the app that stops an event does not make the person look idle.
    const input = throttled(() => {
      hooks.input(false);
      talk();
      channel?.postMessage(0);
    });
    for (const type of INPUT_EVENTS) on(window, type, input);
    talk();
  }
  return () => {
    ends.abort();
    hush();
  };
}

/** Where there is none (an older browser, storage that is forbidden), each page counts its own input. */
function openChannel(heard: () => void): BroadcastChannel | undefined {
  try {
    const channel = new BroadcastChannel("greendot");
    channel.onmessage = heard;
    return channel;
  } catch {
    return undefined;
  }
}

/** How it is with the page now, as far as it can be told. */
export function pageNow(): PageEvent[] {
  const now: PageEvent[] = [];
  if (typeof document !== "undefined") now.push(visibility());
  // Node's navigator does not say.
  if (typeof navigator !== "undefined" && typeof navigator.onLine === "boolean") {
    now.push(navigator.onLine ? PAGE.online : PAGE.offline);
  }
  return now;
}

function visibility(): PageEvent {
  return document.visibilityState === "hidden" ? PAGE.hidden : PAGE.visible;
}

function throttled(tell: () => void): (event: Event) => void {
  let last = -Infinity;
  return event => {
    // The event's own time: reading it costs nothing, and this runs for each move of a pointer.
    if (event.timeStamp - last < INPUT_EVERY_MS || isStill(event)) return;
    last = event.timeStamp;
    tell();
  };
}

/** A pointer that lies still "moves" when the page moves beneath it. */
function isStill(event: Event): boolean {
  const { type, movementX, movementY } = event as PointerEvent;
  return type === "pointermove" && movementX === 0 && movementY === 0;
}
