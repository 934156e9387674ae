// What the compiler, the package linters and the reference's maker say of the package as it is installed here.
import { execFileSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The oldest TypeScript that is promised, the one that documents are made with, and the newest. */
const CHECKS = [
  ["typescript-5.0", "node10", "esnext"],
  ["typescript-5.0", "node16", "node16"],
  ["typescript", "bundler", "esnext"],
  ["typescript-7", "nodenext", "nodenext"],
];
const BOTH = ["core.ts", "frameworks.ts"];

for (const [compiler, moduleResolution, module] of CHECKS) {
  check(compiler, moduleResolution, module, true, BOTH);
  // The frameworks' own declarations are not ours to mend; what is ours is looked through, too.
  if (compiler !== "typescript") check(compiler, moduleResolution, module, false, ["core.ts"]);
}
run("publint", "node_modules/.bin/publint", "node_modules/greendot", "--strict");
// The package is a module, and says so: nothing is promised to `require` in TypeScript. The wasm file has no types of a module.
run(
  "attw",
  "node_modules/.bin/attw",
  process.env.GREENDOT_TARBALL,
  ...["--ignore-rules", "cjs-resolves-to-esm", "--exclude-entrypoints", "client_bg.wasm", "--no-emoji", "--format", "ascii"],
);
reference();

function check(compiler, moduleResolution, module, skipLibCheck, files) {
  const compilerOptions = {
    target: "es2022",
    lib: ["es2022", "dom", "dom.iterable"],
    module,
    moduleResolution,
    skipLibCheck,
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    types: [],
  };
  writeFileSync("tsconfig.json", JSON.stringify({ compilerOptions, files }));
  const what = `${files.join(" and ")} by ${compiler}, ${moduleResolution}${skipLibCheck ? "" : ", declarations and all"}`;
  run(what, process.execPath, join("node_modules", compiler, "bin/tsc"), "-p", "tsconfig.json");
}

/** From the declarations as people get them: whatever is public and without a word about it is an error. */
function reference() {
  const entries = ["index", "react", "vue", "svelte", "runes", "element", "slim", "testing", "devtools", "hot", "protocol"];
  const dist = "node_modules/greendot/dist";
  const missing = entries.filter(it => !readdirSync(dist).includes(`${it}.d.ts`));
  if (missing.length > 0) throw new Error(`the package has no ${missing.join(", ")}`);
  const compilerOptions = { target: "es2022", lib: ["es2022", "dom"], module: "esnext", moduleResolution: "bundler", skipLibCheck: true, strict: true, types: [] };
  writeFileSync("tsconfig.json", JSON.stringify({ compilerOptions, files: entries.map(it => `${dist}/${it}.d.ts`) }));
  const options = {
    name: "greendot",
    tsconfig: "tsconfig.json",
    entryPoints: entries.map(it => `${dist}/${it}.d.ts`),
    exclude: [],
    excludeExternals: false,
    highlightLanguages: ["sh", "js", "jsx", "ts", "tsx", "html", "css", "json", "http", "vue", "svelte"],
    readme: "node_modules/greendot/README.md",
    disableSources: true,
    out: process.env.GREENDOT_REFERENCE,
    validation: { notExported: true, invalidLink: true, notDocumented: true },
    // A trick of the compiler's, for nobody to read.
    intentionallyNotExported: ["Given"],
    requiredToBeDocumented: ["Class", "Function", "Interface", "TypeAlias", "Variable"],
    treatWarningsAsErrors: true,
  };
  writeFileSync("typedoc.json", JSON.stringify(options));
  run("the reference", "node_modules/.bin/typedoc");
}

function run(what, command, ...args) {
  try {
    execFileSync(command, args, { stdio: "pipe" });
    console.log(`ok ${what}`);
  } catch (error) {
    throw new Error(`${what}:\n${error.stdout}${error.stderr}`);
  }
}
