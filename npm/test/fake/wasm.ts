import type { EngineClass } from "../../src/engine.js";
import { FakeEngine } from "./engine.js";

/** What was to be compiled, and whether that is to fail. */
export const wasm: { loads: unknown[]; failure: Error | undefined } = { loads: [], failure: undefined };

export async function engineFrom(source: unknown): Promise<EngineClass> {
  wasm.loads.push(source);
  if (wasm.failure !== undefined) throw wasm.failure;
  return FakeEngine;
}
