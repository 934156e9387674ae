import type { Table } from "./engine.js";
import { report } from "./report.js";
import type { Row, Rows } from "./rows.js";
import type { Stop, View } from "./types.js";

/** One listener of the app and the users it watches. */
interface Part {
  readonly number: number;
  readonly rows: Set<Row>;
  readonly tell: (changes: readonly View[]) => void;
  /** Whether it is to hear of a view that went stale, or fresh again, too. */
  readonly ofStale: boolean;
  /** Numbers of the rows it has yet to hear of. */
  readonly pending: Set<number>;
}

/**
 * Who in the app watches whom. The wasm client counts, and holds on for a moment to what nobody watches any more; what
 * is here is the way back to the app's functions.
 */
export class Parts {
  readonly #rows: Rows;
  readonly #parts = new Map<number, Part>();
  readonly #pending = new Set<Part>();
  #next = 1;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  add(users: Iterable<string>, tell: Part["tell"], ofStale: boolean): Stop {
    const part: Part = { number: this.#next++, rows: new Set(), tell, ofStale, pending: new Set() };
    this.#parts.set(part.number, part);
    for (const user of new Set(users)) {
      const row = this.#rows.open(user);
      row.parts++;
      part.rows.add(row);
      if (this.#rows.engine) this.#subscribe(this.#rows.engine, part, row);
    }
    return () => this.#remove(part);
  }

  /** The wasm client is there: tells it everything at once. */
  attach(engine: Table): void {
    for (const part of this.#parts.values()) {
      for (const row of part.rows) this.#subscribe(engine, part, row);
    }
  }

  changed(number: number, row: number): void {
    const known = this.#rows.byNumber(row);
    if (known) known.dirty = true;
    const part = this.#parts.get(number);
    if (part) this.#tell(part, row);
  }

  staleChanged(): void {
    for (const part of this.#parts.values()) {
      if (!part.ofStale) continue;
      for (const row of part.rows) this.#tell(part, row.number);
    }
  }

  #subscribe(engine: Table, part: Part, row: Row): void {
    this.#rows.numbered(row, engine.subscribe(part.number, row.user));
  }

  #remove(part: Part): void {
    if (!this.#parts.delete(part.number)) return;
    for (const row of part.rows) {
      this.#rows.engine?.unsubscribe(part.number, row.number);
      row.parts--;
      if (row.parts === 0) this.#rows.close(row);
    }
  }

  /**
   * Listeners are called in a microtask: never inside a call of the app's own, where it would meet its own half-done
   * work, and once for all that came together.
   */
  #tell(part: Part, row: number): void {
    if (this.#pending.size === 0) queueMicrotask(() => this.#flush());
    this.#pending.add(part);
    part.pending.add(row);
  }

  #flush(): void {
    const parts = [...this.#pending];
    this.#pending.clear();
    for (const part of parts) {
      const changes: View[] = [];
      for (const number of part.pending) {
        const row = this.#rows.byNumber(number);
        // A number may stand for somebody else by now.
        if (row && part.rows.has(row)) changes.push(this.#rows.view(row));
      }
      part.pending.clear();
      // An earlier listener may have ended this one.
      if (changes.length === 0 || !this.#parts.has(part.number)) continue;
      try {
        part.tell(Object.freeze(changes));
      } catch (error) {
        report(error);
      }
    }
  }
}
