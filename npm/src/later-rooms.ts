import type { Rooms } from "./rooms.js";
import type { Rows } from "./rows.js";
import { unknownRoom } from "./sources.js";
import type { Room, RoomView, Stop } from "./types.js";

/** The class, once any client of the page has loaded it. */
let loaded: typeof Rooms | undefined;

/**
 * The rooms of a client, whose code is loaded with the first of them: few pages have any. A room is the same object before and
 * after; what is asked of it in between waits.
 */
export class LaterRooms {
  /** Those that know more than their names, once the code is there. */
  real: Rooms | undefined;
  readonly #rows: Rows;
  readonly #failed: ((error: unknown) => void) | undefined;
  readonly #byId = new Map<string, Room>();
  readonly #waiting = new Set<() => void>();
  #loading = false;

  /** Without `failed` it is a server's client, whose rooms stay unknown: nothing is loaded. */
  constructor(rows: Rows, failed: ((error: unknown) => void) | undefined) {
    this.#rows = rows;
    this.#failed = failed;
  }

  /** The same object each time, so that it can be compared and kept. */
  get(id: string): Room {
    this.#load();
    let room = this.#byId.get(id);
    if (!room) this.#byId.set(id, (room = this.#made(id)));
    return room;
  }

  #load(): void {
    if (this.real || this.#loading || !this.#failed) return;
    if (loaded) {
      this.#begin(loaded);
      return;
    }
    this.#loading = true;
    import("./rooms.js")
      .then(it => this.#begin((loaded = it.Rooms)), this.#failed)
      .finally(() => (this.#loading = false));
  }

  #begin(made: typeof Rooms): void {
    this.real = new made(this.#rows);
    for (const deed of this.#waiting) deed();
    this.#waiting.clear();
  }

  #made(id: string): Room {
    const first = unknownRoom(id);
    const room = (): Room | undefined => this.real?.get(id, first);
    const view = (): RoomView => room()?.view ?? first;
    return {
      id,
      get view() {
        return view();
      },
      get members() {
        return view().members;
      },
      get count() {
        return view().count;
      },
      subscribe: listener => {
        this.#load();
        let stop: Stop | undefined;
        const begin = (): void => void (stop = room()?.subscribe(listener));
        begin();
        if (!stop) this.#waiting.add(begin);
        return () => {
          this.#waiting.delete(begin);
          stop?.();
        };
      },
    };
  }
}
