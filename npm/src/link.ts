import { Listeners } from "./listeners.js";
import type { Link, Stop } from "./types.js";

const CLOSED: Link = Object.freeze({ state: "closed", stale: true });

/** The link's status, and who wants to hear of it. */
export class LinkStatus {
  #now: Link = CLOSED;
  #stale = true;
  #due = false;
  /** What listeners have yet to hear, in order. */
  readonly #untold: Link[] = [];
  readonly #listeners = new Listeners<Link>();

  get now(): Link {
    return this.#now;
  }

  onChange(listener: (link: Link) => void): Stop {
    return this.#listeners.add(listener);
  }

  set(link: Omit<Link, "stale">): void {
    this.#put(link);
  }

  /** The wasm half's word on whether what it holds may be old. */
  setStale(stale: boolean): void {
    this.#stale = stale;
    this.#put(this.#now);
  }

  #put(link: Omit<Link, "stale">): void {
    const last = this.#now;
    // Only a live link can be fresh.
    const stale = this.#stale || link.state !== "live";
    if (last.state === link.state && last.why === link.why && last.retryMs === link.retryMs) {
      if (last.stale === stale) return;
      // Told together with the step that it belongs to, if that has not been told yet.
      if (this.#untold.at(-1) === last) this.#untold.pop();
    }
    this.#now = Object.freeze({ ...link, stale });
    this.#untold.push(this.#now);
    if (this.#due) return;
    this.#due = true;
    queueMicrotask(() => this.#tell());
  }

  #tell(): void {
    this.#due = false;
    for (const link of this.#untold.splice(0)) this.#listeners.tell(link);
  }
}
