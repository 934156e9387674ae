import { Listeners } from "./listeners.js";
import { CLOSED } from "./sources.js";
import type { Link, Stop } from "./types.js";

/** The link's status, and who wants to hear of it. */
export class LinkStatus {
  #now: Link = CLOSED;
  #stale = true;
  #due = false;
  /** What listeners have yet to hear, in order. */
  readonly #untold: { readonly link: Link; readonly onlyStale: boolean }[] = [];
  readonly #listeners = new Listeners<Link>();

  get now(): Link {
    return this.#now;
  }

  onChange(listener: (link: Link) => void): Stop {
    return this.#listeners.add(listener);
  }

  /** The wasm half's word on whether what it holds may be old. */
  setStale(stale: boolean): void {
    this.#stale = stale;
    this.set(this.#now);
  }

  set(link: Omit<Link, "stale">): void {
    const last = this.#now;
    // Only a live link can be fresh.
    const stale = this.#stale || link.state !== "live";
    const sameStep = last.state === link.state && last.why === link.why && last.retryMs === link.retryMs;
    if (sameStep && last.stale === stale) return;
    this.#now = Object.freeze({ ...link, stale });
    // Going stale or fresh is told together with the step that it belongs to: the one just before, or just after it.
    const before = this.#untold.at(-1);
    const merged = before !== undefined && (sameStep || before.onlyStale);
    if (merged) this.#untold.pop();
    this.#untold.push({ link: this.#now, onlyStale: sameStep && (before?.onlyStale ?? true) });
    if (this.#due) return;
    this.#due = true;
    queueMicrotask(() => this.#tell());
  }

  #tell(): void {
    this.#due = false;
    for (const { link } of this.#untold.splice(0)) this.#listeners.tell(link);
  }
}
