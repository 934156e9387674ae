import type { EngineClass } from "./engine.js";
import { wrapped } from "./errors.js";
import { engineFrom } from "./wasm.js";

/** What the wasm client can be made from: an address, or what an app has loaded itself. */
export type WasmSource = string | URL | Response | BufferSource | WebAssembly.Module;

/** Gets the wasm client ready. */
export type Load = (source?: WasmSource) => Promise<EngineClass>;

/**
 * A loader that falls back on `own` where the app names no source. The module is one for the whole page, and so is the
 * promise of it; only a failure is forgotten, for the next connect to try again.
 */
export function loader(own: () => WasmSource | Promise<WasmSource>): Load {
  let loaded: Promise<EngineClass> | undefined;
  return source => {
    loaded ??= start(source, own).catch((error: unknown) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}

async function start(given: WasmSource | undefined, own: () => WasmSource | Promise<WasmSource>): Promise<EngineClass> {
  let source = given ?? (await own());
  let name = source instanceof Response ? source.url : "the option wasm";
  try {
    if (typeof source === "string" || source instanceof URL) {
      name = String(source);
      const response = await fetch(source);
      // So that a 404 is called a 404 and not a bad magic number.
      if (!response.ok) throw new Error(`the server answered ${response.status}`);
      source = response;
    }
    return await engineFrom(source);
  } catch (error) {
    const next = "See that it is served there, and that script-src of the page's policy has 'wasm-unsafe-eval'; then call connect().";
    throw wrapped(error, "load_failed", "the wasm file did not load", name, next);
  }
}
