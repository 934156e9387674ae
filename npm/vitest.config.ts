import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
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
