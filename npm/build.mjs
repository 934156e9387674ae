// Builds dist/ from src/, around the wasm client that `cargo xtask pack` has put into dist/wasm.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

process.chdir(import.meta.dirname);
if (!existsSync("dist/wasm/client.js")) {
  console.error("dist/wasm/client.js is missing: run `cargo xtask pack`, which makes it and then calls this build.");
  process.exit(1);
}

// What an earlier build left; dist/wasm is not ours.
for (const name of readdirSync("dist")) if (name !== "wasm") rmSync(`dist/${name}`, { recursive: true });

await build({
  entryPoints: ["src/index.ts", "src/index.node.ts", "src/react.ts"],
  outdir: "dist",
  bundle: true,
  splitting: true,
  chunkNames: "core-[hash]",
  format: "esm",
  target: "es2022",
  platform: "neutral",
  external: ["react", "node:*"],
  // Bundled as it will be installed: one request in a page without a bundler, and what is not used of the glue goes.
  alias: { "./wasm/client.js": `${import.meta.dirname}/dist/wasm/client.js` },
  legalComments: "none",
});
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], { stdio: "inherit" });
