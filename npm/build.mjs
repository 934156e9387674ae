// Builds dist/ from src/, around the wasm client that `cargo xtask pack` puts into dist/wasm.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

process.chdir(import.meta.dirname);
mkdirSync("dist", { recursive: true });
// What an earlier build left; dist/wasm is not ours.
for (const name of readdirSync("dist")) if (name !== "wasm") rmSync(`dist/${name}`, { recursive: true });

await build({
  entryPoints: ["index", "index.node", "react", "protocol", "debug", "own", "poll"].map(it => `src/${it}.ts`),
  outdir: "dist",
  // One file an entry: a page without a bundler then makes two requests (this and the wasm) and not twenty.
  bundle: true,
  format: "esm",
  target: "es2022",
  platform: "neutral",
  external: ["react", "node:*", "./debug.js", "./own.js", "./poll.js"],
  legalComments: "none",
});
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], { stdio: "inherit" });
