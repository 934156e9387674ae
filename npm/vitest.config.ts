import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { svelte } from "./test/svelte/compile.js";

export default defineConfig({
  plugins: [svelte()],
  resolve: {
    // Svelte tells pages from servers by it.
    conditions: ["browser"],
    // The wasm client's glue comes out of the Rust build; the unit tests play its part themselves.
    alias: [{ find: "./wasm/client.js", replacement: fileURLToPath(new URL("test/fake/glue.ts", import.meta.url)) }],
  },
  define: { DEV: "globalThis.DEV" },
  test: {
    setupFiles: ["test/setup.ts"],
    include: ["test/**/*.test.ts", "test/**/*.test.tsx"],
    environment: "node",
    restoreMocks: true,
    unstubGlobals: true,
  },
});
