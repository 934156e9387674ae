import type { EngineClass } from "./engine.js";
import { textOf, wrapped } from "./errors.js";
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
  const source = given ?? (await own());
  const name = nameOf(source);
  try {
    return await engineFrom(await fetched(source));
  } catch (error) {
    throw wrapped(error, "load_failed", "the wasm file did not load", name, nextStep(textOf(error)));
  }
}

/** So that a 404 is called a 404 and not a bad magic number. */
async function fetched(source: WasmSource): Promise<Exclude<WasmSource, string | URL>> {
  if (typeof source !== "string" && !(source instanceof URL)) return source;
  const response = await fetch(source);
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return response;
}

function nameOf(source: WasmSource): string {
  if (typeof source === "string") return source;
  if (source instanceof URL) return source.href;
  return source instanceof Response ? source.url : "the option wasm";
}

function nextStep(text: string): string {
  if (/wasm-unsafe-eval|content security policy/i.test(text)) {
    return "Add 'wasm-unsafe-eval' to the script-src of the page's content security policy.";
  }
  return "See that the file is served there (as application/wasm), or name another in the option wasm; then call connect().";
}
