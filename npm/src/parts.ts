import type { Engine } from "./engine.js";
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

/** The part that keeps the rows which were let go of a moment ago. */
const HOLD = 0;

/**
 * How long a row is held at least after its last watcher has gone. A row that is scrolled out and in again, or mounted
 * anew, then costs nothing and does not flicker.
 */
const HOLD_MS = 500;

/** With more rows than this none is held: the server bounds how many a connection may watch, and apps come first. */
const HOLD_ROWS = 500;

/** Who in the app watches whom. The wasm client counts; what is here is the way back to the app's functions. */
export class Parts {
  readonly #rows: Rows;
  readonly #parts = new Map<number, Part>();
  #next = HOLD + 1;
  #due = false;
  readonly #pending = new Set<Part>();
  #held = new Set<Row>();
  #letGo = new Set<Row>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  get #engine(): Engine | undefined {
    return this.#rows.engine;
  }

  add(users: Iterable<string>, tell: Part["tell"], ofStale: boolean): Stop {
    const part: Part = { number: this.#next++, rows: new Set(), tell, ofStale, pending: new Set() };
    this.#parts.set(part.number, part);
    for (const user of new Set(users)) {
      const row = this.#rows.open(user);
      row.parts++;
      part.rows.add(row);
      if (this.#engine !== undefined) this.#subscribe(this.#engine, part, row);
    }
    return () => this.#remove(part);
  }

  /** The wasm client is there: tells it everything at once. */
  attach(engine: Engine): void {
    for (const part of this.#parts.values()) {
      for (const row of part.rows) this.#subscribe(engine, part, row);
    }
  }

  /** Forgets what was told to a wasm client that is given up. */
  detach(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const row of [...this.#held, ...this.#letGo]) {
      if (row.parts === 0) this.#rows.close(row);
    }
    this.#held.clear();
    this.#letGo.clear();
  }

  changed(number: number, row: number): void {
    const known = this.#rows.byNumber(row);
    if (known !== undefined) known.dirty = true;
    const part = this.#parts.get(number);
    if (part === undefined) return;
    part.pending.add(row);
    this.#tell(part);
  }

  staleChanged(): void {
    for (const part of this.#parts.values()) {
      if (!part.ofStale) continue;
      for (const row of part.rows) part.pending.add(row.number);
      this.#tell(part);
    }
  }

  #subscribe(engine: Engine, part: Part, row: Row): void {
    this.#rows.numbered(row, engine.subscribe(part.number, row.user));
  }

  #remove(part: Part): void {
    if (!this.#parts.delete(part.number)) return;
    this.#pending.delete(part);
    for (const row of part.rows) {
      row.parts--;
      if (row.parts === 0) this.#leave(row);
    }
    this.#engine?.unsubscribeAll(part.number);
  }

  /** The last part has let go of a row. */
  #leave(row: Row): void {
    if (this.#engine === undefined || this.#rows.size > HOLD_ROWS) {
      if (!this.#held.has(row) && !this.#letGo.has(row)) this.#rows.close(row);
      return;
    }
    if (!this.#held.has(row) && !this.#letGo.delete(row)) this.#engine.subscribe(HOLD, row.user);
    this.#held.add(row);
    this.#timer ??= setTimeout(() => this.#sweep(), HOLD_MS);
  }

  /** Two rounds, so that what came in just before a sweep is held for a whole round too. */
  #sweep(): void {
    for (const row of this.#letGo) {
      this.#engine?.unsubscribe(HOLD, row.number);
      if (row.parts === 0) this.#rows.close(row);
    }
    this.#letGo = this.#held;
    this.#held = new Set();
    this.#timer = this.#letGo.size > 0 ? setTimeout(() => this.#sweep(), HOLD_MS) : undefined;
  }

  /**
   * Listeners are called in a microtask: never inside a call of the app's own, where it would meet its own half-done
   * work, and one call for all that came together.
   */
  #tell(part: Part): void {
    this.#pending.add(part);
    if (this.#due) return;
    this.#due = true;
    queueMicrotask(() => {
      this.#due = false;
      this.#flush();
    });
  }

  #flush(): void {
    const parts = [...this.#pending];
    this.#pending.clear();
    for (const part of parts) {
      const changes: View[] = [];
      for (const number of part.pending) {
        const row = this.#rows.byNumber(number);
        // A number may stand for somebody else by now.
        if (row !== undefined && part.rows.has(row)) changes.push(this.#rows.view(row));
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
