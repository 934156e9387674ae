import { FakeEngine } from "./engine.js";

export { FakeEngine as Client };

/** What the loads were given, and whether they are to fail. */
export const glue: { loads: unknown[]; failure: Error | undefined } = { loads: [], failure: undefined };

export default async function init(input: { module_or_path: unknown }): Promise<void> {
  glue.loads.push(input.module_or_path);
  if (glue.failure !== undefined) throw glue.failure;
}
