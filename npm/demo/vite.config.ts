import { defineConfig } from "vite";

export default defineConfig({
  build: {
    outDir: "dist",
    emptyOutDir: true,
    // The icon stays a file; an inlined wasm would be fetched by nobody's streaming compiler.
    assetsInlineLimit: 0,
  },
});
