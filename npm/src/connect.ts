import { Client } from "./client.js";
import type { Load } from "./load.js";
import { warnOfSecond } from "./misuse.js";
import { settingsOf } from "./options.js";
import { inBrowser } from "./place.js";
import type { Options, Presence } from "./types.js";

/** Opens a client; the type arguments are the app's own types of its users' ids and of their notes. */
export type Connect<Given extends Options = Options> = <User extends string = string, Note extends string = string>(
  options: Given,
) => Presence<User, Note>;

/** `connect`, on top of one way to load the wasm file. Each entry of the package is one such way. */
export function connector(load: Load): Connect {
  return <User extends string, Note extends string>(options: Options) => {
    const here = options?.headless === true || inBrowser();
    const settings = settingsOf(options, here);
    const client: Presence = new Client(settings, here ? load : undefined, options.wasm);
    if (DEV) warnOfSecond(settings, client);
    client.connect();
    // What is a name to this package may be a narrower type to the app.
    return client as unknown as Presence<User, Note>;
  };
}
