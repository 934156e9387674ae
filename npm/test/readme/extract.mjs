// The README's code, block by block. Called by itself it writes those that the compiler checks, and those that are tests, into
// the folder `.readme`.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const FILE = new URL("../../README.md", import.meta.url);
const FOLDER = new URL("../../.readme/", import.meta.url);

/** Each block with its language and the line it begins at. */
export function blocks() {
  const found = [];
  let open;
  for (const [at, line] of readFileSync(FILE, "utf8").split("\n").entries()) {
    const [, indent, language] = /^( *)```(\w*)$/.exec(line) ?? [];
    if (language === undefined) open?.lines.push(line.slice(open.indent));
    else if (open === undefined) open = { language, line: at + 2, indent: indent.length, lines: [] };
    else {
      found.push({ language: open.language, line: open.line, code: `${open.lines.join("\n")}\n` });
      open = undefined;
    }
  }
  return found;
}

/** The module scripts of a piece of HTML. */
export function scripts(html) {
  return Array.from(html.matchAll(/<script type="module">\n([^]*?)<\/script>/g), it => it[1]);
}

if (process.argv[1] === import.meta.filename) {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER);
  const files = ["../test/readme/app.d.ts"];
  for (const { language, line, code } of blocks()) {
    const [, name] = /^\/\/ (\S+\.test)\.jsx\n/.exec(code) ?? [];
    const pieces = language === "html" ? scripts(code) : ["js", "jsx", "ts", "tsx"].includes(language) ? [code] : [];
    // A block without imports is a module all the same, and those that show the same thing do not meet.
    const head = name === undefined ? "" : "// @vitest-environment happy-dom\n";
    for (const piece of pieces) {
      files.push(`${name ?? `line-${line}`}.tsx`);
      writeFileSync(new URL(files.at(-1), FOLDER), `${head}${piece}\nexport {};\n`);
    }
  }
  const compilerOptions = {
    noEmit: true,
    module: "esnext",
    moduleResolution: "bundler",
    allowArbitraryExtensions: true,
    // They are JavaScript, mostly: what has no type may stay so, and what is shown need not be used.
    noImplicitAny: false,
    strictNullChecks: true,
    noUnusedLocals: false,
    noUncheckedIndexedAccess: false,
    skipLibCheck: true,
    types: ["vite/client", "node"],
    paths: {
      greendot: ["../src/index.ts"],
      "greendot/client_bg.wasm": ["../src/wasm-url.ts"],
      "greendot/svelte/runes": ["../src/runes.ts"],
      "greendot/*": ["../src/*.ts"],
    },
  };
  // By name: patterns pass over folders that begin with a dot.
  const config = { extends: "../tsconfig.base.json", compilerOptions, files };
  writeFileSync(new URL("tsconfig.json", FOLDER), JSON.stringify(config));
}
