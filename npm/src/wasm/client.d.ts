// What wasm-bindgen generates beside the wasm file, as far as this package uses it. The build puts the real one in
// dist/wasm; this declaration lets the sources be checked without it.
import type { EngineClass } from "../engine.js";
import type { WasmSource } from "../load.js";

export const Client: EngineClass;
export default function init(input: { module_or_path: WasmSource }): Promise<unknown>;
