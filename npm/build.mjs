// Builds dist/ from src/, around the wasm client that `cargo xtask pack` puts into dist/wasm.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

process.chdir(import.meta.dirname);
mkdirSync("dist", { recursive: true });
// What an earlier build left; dist/wasm is not ours.
for (const name of readdirSync("dist")) if (name !== "wasm") rmSync(`dist/${name}`, { recursive: true });

const ENTRIES = ["index", "index.node", "slim", "react", "vue", "svelte", "runes", "element", "testing", "devtools", "hot"];
/** What an entry loads when it comes to that. */
const LATER = ["debug", "own", "poll", "rooms"];

const common = {
  outdir: "dist",
  // One file an entry: a page without a bundler then makes two requests (this and the wasm) and not twenty.
  bundle: true,
  format: "esm",
  target: "es2022",
  platform: "neutral",
  external: ["react", "vue", "svelte", "svelte/*", "node:*", ...LATER.map(it => `./${it}.js`)],
  // Numbers with names become numbers; all else can be read, and is left for the app's bundler to make small.
  minifySyntax: true,
  legalComments: "none",
};
const sources = names => names.map(name => ({ in: `src/${name}.ts`, out: name }));

/**
 * Names of properties that only the package's own code sees, and that nothing else has: no app's bundler dares to shorten them. They
 * get the same short name in every file that calls by it.
 */
const INSIDE = [
  "attach", "beacon", "byNumber", "changed", "detach", "dirty", "empty", "engine", "idleAfterSecs", "input", "isWatched", "leave",
  "needToken", "nodes", "numbered", "ofStale", "onChange", "onlyStale", "page", "pending", "real", "seenAgoMs", "setStale",
  "staleChanged", "tell", "timer", "tokenFailed", "unsubscribe",
];
const CORE = ["index", "index.node", "slim", "testing", "rooms"];
const short = {
  mangleProps: new RegExp(`^(?:${INSIDE.join("|")})$`),
  mangleCache: Object.fromEntries(INSIDE.map((name, at) => [name, (at + 10).toString(36)])),
};
const whole = [...ENTRIES, "protocol", ...LATER].filter(it => it !== "react" && !CORE.includes(it));

await Promise.all([
  build({ ...common, ...short, entryPoints: sources(CORE), define: { DEV: "false" } }),
  build({ ...common, entryPoints: sources(whole), define: { DEV: "false" } }),
  // Hooks run in the browser: a server component may import the provider, and render it.
  build({ ...common, entryPoints: sources(["react"]), banner: { js: '"use client";' } }),
  // For the condition `development`, with warnings of misuse.
  build({ ...common, ...short, entryPoints: [{ in: "src/index.ts", out: "index.dev" }], define: { DEV: "true" } }),
]);
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], { stdio: "inherit" });
