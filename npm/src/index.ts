import { type Connect, connector } from "./connect.js";
import { loader } from "./load.js";

/** Opens a presence client. Returns at once; the wasm client loads by itself. */
export const connect: Connect = /* @__PURE__ */ connector(
  // Bundlers know this form and carry the file along.
  /* @__PURE__ */ loader(() => new URL("./wasm/client_bg.wasm", import.meta.url)),
);

export * from "./public.js";
