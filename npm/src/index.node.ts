import { connector } from "./connect.js";
import { loader } from "./load.js";
import type { Options, Presence } from "./types.js";

/** Opens a presence client. On a server it stays closed, unless the option `headless` says otherwise. */
export const connect: (options: Options) => Presence = /* @__PURE__ */ connector(
  /* @__PURE__ */ loader(async () => {
    const { readFile } = await import("node:fs/promises");
    // Node's fetch does not read files.
    return readFile(new URL("./wasm/client_bg.wasm", import.meta.url));
  }),
);

export * from "./public.js";
