import { type Connect, connector } from "./connect.js";
import { GreendotError } from "./errors.js";
import { loader } from "./load.js";

const load = /* @__PURE__ */ loader(async () => {
  const { readFile } = await import("node:fs/promises");
  // Node's fetch does not read files.
  return readFile(new URL("./wasm/client_bg.wasm", import.meta.url));
});

/** Opens a presence client. On a server it stays closed, unless the option `headless` says otherwise. */
export const connect: Connect = /* @__PURE__ */ connector(async source => {
  if (typeof WebSocket === "undefined") {
    const next = 'Use Node 22 or newer, or put one there: globalThis.WebSocket = (await import("ws")).WebSocket.';
    throw new GreendotError("no_websocket", "there is no WebSocket here", "this runtime", next);
  }
  return load(source);
});

export * from "./public.js";
