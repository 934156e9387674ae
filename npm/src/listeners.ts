import { report } from "./report.js";
import type { Stop } from "./types.js";

/** Who wants to hear of one thing. */
export class Listeners<T> {
  readonly #all = new Set<{ readonly tell: (value: T) => void }>();

  get empty(): boolean {
    return this.#all.size === 0;
  }

  /** The same function added twice is two listeners, each with its own end. */
  add(tell: (value: T) => void): Stop {
    const entry = { tell };
    this.#all.add(entry);
    return () => {
      this.#all.delete(entry);
    };
  }

  tell(value: T): void {
    for (const entry of [...this.#all]) {
      // One that an earlier one has just ended is not told any more.
      if (!this.#all.has(entry)) continue;
      try {
        entry.tell(value);
      } catch (error) {
        report(error);
      }
    }
  }
}
