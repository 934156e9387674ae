import { copyFileSync, mkdirSync } from "node:fs";
import resolve from "@rollup/plugin-node-resolve";
import url from "@rollup/plugin-url";
import svelte from "rollup-plugin-svelte";

mkdirSync("dist", { recursive: true });
copyFileSync("src/index.html", "dist/index.html");

export default {
  input: "src/main.js",
  output: { dir: "dist", format: "es" },
  // Rollup itself leaves files behind: this one takes the wasm along, and gives its address.
  plugins: [url({ include: "**/*.wasm", limit: 0 }), svelte({ emitCss: false }), resolve({ browser: true, exportConditions: ["svelte"], dedupe: ["svelte"] })],
};
