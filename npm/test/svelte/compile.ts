import { compile } from "svelte/compiler";
import type { Plugin } from "vite";

/** Compiles components as Svelte's own plugin does, less what tests do not need. */
export function svelte(): Plugin {
  return {
    name: "svelte",
    transform(code, id, options) {
      if (!id.endsWith(".svelte")) return undefined;
      const { js } = compile(code, { filename: id, generate: options?.ssr ? "server" : "client", dev: false });
      return { code: js.code, map: js.map };
    },
  };
}
