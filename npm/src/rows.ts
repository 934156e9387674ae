import type { Table } from "./engine.js";
import type { View } from "./types.js";
import { unknownView, viewOf } from "./views.js";

/** One watched user. */
export interface Row {
  readonly user: string;
  /** The wasm client's number for it; -1 while there is no wasm client yet. */
  number: number;
  /** How many parts of the app watch it. */
  parts: number;
  view: View;
  /** Whether `view` may no longer be what the wasm client holds. */
  dirty: boolean;
}

/** Unwatched users whose views are remembered, so that asking twice gives the same object. Dropped when too many. */
const STRANGERS = 1_000;

/** The watched users and their views. */
export class Rows {
  engine: Table | undefined;
  readonly #byUser = new Map<string, Row>();
  /** By the wasm client's numbers, which are small and used again. */
  #byNumber: (Row | undefined)[] = [];
  readonly #strangers = new Map<string, View>();
  stale = true;

  /** Returns whether that was news. */
  setStale(is: boolean): boolean {
    if (this.stale === is) return false;
    this.stale = is;
    this.#strangers.clear();
    return true;
  }

  isWatched(user: string): boolean {
    return this.#byUser.has(user);
  }

  /** Those that are watched. */
  all(): Iterable<Row> {
    return this.#byUser.values();
  }

  get(user: string): View {
    const row = this.#byUser.get(user);
    return row ? this.view(row) : this.#stranger(user);
  }

  view(row: Row): View {
    if (!this.engine || row.number < 0) row.view = unknownView(row.user, this.stale, row.view);
    else if (row.dirty || row.view.stale !== this.stale) {
      row.view = viewOf(row.user, this.stale, row.number, this.engine, row.view);
      row.dirty = false;
    }
    return row.view;
  }

  /** The row of a user, made if there is none. */
  open(user: string): Row {
    let row = this.#byUser.get(user);
    if (!row) {
      // Begins with the object that was given out before, so that a first watch alone re-renders nothing.
      row = { user, number: -1, parts: 0, view: this.#stranger(user), dirty: true };
      this.#byUser.set(user, row);
    }
    return row;
  }

  close(row: Row): void {
    this.#byUser.delete(row.user);
    if (row.number >= 0) this.#byNumber[row.number] = undefined;
  }

  detach(): void {
    this.engine = undefined;
    this.#byNumber = [];
    for (const row of this.#byUser.values()) {
      row.number = -1;
      row.dirty = true;
    }
  }

  numbered(row: Row, number: number): void {
    row.number = number;
    this.#byNumber[number] = row;
  }

  byNumber(number: number): Row | undefined {
    return this.#byNumber[number];
  }

  #stranger(user: string): View {
    let view = this.#strangers.get(user);
    if (!view) {
      if (this.#strangers.size >= STRANGERS) this.#strangers.clear();
      view = unknownView(user, this.stale);
      this.#strangers.set(user, view);
    }
    return view;
  }
}
