import { type Connect, connector } from "./connect.js";
import { GreendotError } from "./errors.js";
import { loader, type WasmSource } from "./load.js";
import type { Options } from "./types.js";

/** What `connect` takes here: as elsewhere, and the wasm file, because nothing here says where it lies. */
export interface SlimOptions extends Options {
  readonly wasm: WasmSource;
}

/**
 * Opens a presence client over a wasm file that the app names. For a place where no bundler carries the file along, and for
 * libraries that leave the choice to their users: there is no `new URL(…)` here for a bundler to follow.
 */
export const connect: Connect<SlimOptions> = /* @__PURE__ */ connector(
  /* @__PURE__ */ loader(() => {
    const next = 'Name the file: connect({ wasm: "/assets/client_bg.wasm", … }).';
    throw new GreendotError("bad_option", "greendot/slim loads no wasm file by itself", "the option wasm", next);
  }),
);

export * from "./public.js";
