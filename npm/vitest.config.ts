import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { svelte } from "./test/svelte/compile.js";

export default defineConfig({
  plugins: [svelte()],
  resolve: {
    // Svelte tells pages from servers by it.
    conditions: ["browser"],
    alias: [
      // What the README says is said of the sources.
      { find: /^greendot\/(\w+)$/, replacement: fileURLToPath(new URL("src/$1.ts", import.meta.url)) },
      // The wasm file comes out of the Rust build; the tests play its part themselves.
      { find: "./wasm.js", replacement: fileURLToPath(new URL("test/fake/wasm.ts", import.meta.url)) },
    ],
  },
  define: { DEV: "globalThis.DEV" },
  test: {
    setupFiles: ["test/setup.ts"],
    include: ["test/**/*.test.ts", "test/**/*.test.tsx", ".readme/*.test.tsx"],
    environment: "node",
    // For what hangs: nothing here is measured by how long it takes, and a busy machine takes its time.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    restoreMocks: true,
    unstubGlobals: true,
  },
});
