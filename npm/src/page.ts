import { PAGE, type PageEvent } from "./engine.js";
import type { Stop } from "./types.js";

/** What the page tells. */
export interface PageHooks {
  page(event: PageEvent): void;
  /** The person touched the page; called at most once a second. */
  input(): void;
}

/** Input within this time of the last one told says nothing new. After a longer pause the first is told at once. */
const INPUT_EVERY_MS = 1_000;

/**
 * What a person does to a page. `scroll` is not among them: pages scroll themselves (a chat, at each message), and
 * where a person scrolls there is a wheel, a touch, a key or a pressed pointer too.
 */
const INPUT_EVENTS = ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"] as const;

/**
 * Listens to the life of the page, if there is one, and to the person at it. There are no `unload` handlers: they would
 * keep the page out of the back/forward cache.
 */
export function bindPage(hooks: PageHooks): Stop {
  if (typeof document === "undefined") return bindWorker(hooks);
  const ends = new AbortController();
  const { signal } = ends;
  const on = (target: EventTarget, type: string, event: PageEvent) =>
    target.addEventListener(type, () => hooks.page(event), { signal });

  document.addEventListener("visibilitychange", () => hooks.page(visibility()), { signal });
  on(document, "freeze", PAGE.frozen);
  on(document, "resume", PAGE.resumed);
  on(window, "offline", PAGE.offline);
  on(window, "online", PAGE.online);
  on(window, "pagehide", PAGE.left);
  window.addEventListener("pageshow", event => event.persisted && hooks.page(PAGE.back), { signal });

  const input = throttledInput(hooks);
  // Capturing, so that a handler of the app that stops an event does not make the person look idle.
  for (const type of INPUT_EVENTS) window.addEventListener(type, input, { signal, capture: true, passive: true });
  return () => ends.abort();
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

function throttledInput(hooks: PageHooks): (event: Event) => void {
  let last = -Infinity;
  return event => {
    // The event's own time: reading it costs nothing, and this runs for each move of a pointer.
    if (event.timeStamp - last < INPUT_EVERY_MS) return;
    // A pointer that lies still "moves" when the page moves beneath it.
    if (event.type === "pointermove" && !movedAtAll(event as PointerEvent)) return;
    last = event.timeStamp;
    hooks.input();
  };
}

function movedAtAll(event: PointerEvent): boolean {
  return event.movementX !== 0 || event.movementY !== 0;
}

/** A worker has no visibility and no input, but it knows of the network. */
function bindWorker(hooks: PageHooks): Stop {
  if (typeof addEventListener !== "function") return () => {};
  const ends = new AbortController();
  addEventListener("offline", () => hooks.page(PAGE.offline), { signal: ends.signal });
  addEventListener("online", () => hooks.page(PAGE.online), { signal: ends.signal });
  return () => ends.abort();
}
