import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    // The wasm file comes out of the Rust build; the tests play its part themselves.
    alias: [{ find: "./wasm.js", replacement: fileURLToPath(new URL("test/fake/wasm.ts", import.meta.url)) }],
  },
  test: {
    include: ["test/**/*.test.ts", "test/**/*.test.tsx"],
    environment: "node",
    restoreMocks: true,
    unstubGlobals: true,
  },
});
