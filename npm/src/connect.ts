import { Client } from "./client.js";
import type { Load } from "./load.js";
import { settingsOf } from "./options.js";
import { inBrowser } from "./place.js";
import type { Options, Presence } from "./types.js";

/** `connect`, on top of one way to load the wasm file. Each entry of the package is one such way. */
export function connector(load: Load): (options: Options) => Presence {
  return options => {
    const here = options?.headless === true || inBrowser();
    const client = new Client(settingsOf(options, here), here ? load : undefined, options.wasm);
    client.connect();
    return client;
  };
}
