// What the README shows is true. Its JavaScript and TypeScript are compiled by `npm run check`, and its test is run with the others.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { transformSync } from "esbuild";
import { compile } from "svelte/compiler";
import { expect, test } from "vitest";
import { compileScript, compileTemplate, parse } from "vue/compiler-sfc";
import { STYLE } from "../src/element-style.js";
import { blocks } from "./readme/extract.mjs";

const MODULES: Record<string, () => Promise<object>> = {
  greendot: () => import("../src/index.js"),
  "greendot/svelte": () => import("../src/svelte.js"),
  "greendot/svelte/runes": () => import("../src/runes.js"),
  "greendot/vue": () => import("../src/vue.js"),
};

/** Imported names that the package does not have. */
async function missing(code: string): Promise<string[]> {
  const gone: string[] = [];
  for (const [, names = "", from = ""] of code.matchAll(/import \{ ([^}]*) \} from "(greendot[^"]*)"/g)) {
    const module = await MODULES[from]?.();
    for (const name of names.split(", ")) if (module === undefined || !(name in module)) gone.push(`${name} of ${from}`);
  }
  return gone;
}

const CHECKS: Record<string, (code: string) => void | Promise<void>> = {
  async vue(code) {
    const { descriptor, errors } = parse(code);
    expect(errors).toEqual([]);
    compileScript(descriptor, { id: "readme" });
    expect(compileTemplate({ id: "readme", filename: "readme.vue", source: descriptor.template?.content ?? "" }).errors).toEqual([]);
    expect(await missing(code)).toEqual([]);
  },
  async svelte(code) {
    expect(compile(code, { filename: "readme.svelte" }).warnings.map(it => it.message)).toEqual([]);
    expect(await missing(code)).toEqual([]);
  },
  css(code) {
    expect(transformSync(code, { loader: "css" }).warnings).toEqual([]);
    for (const [property] of code.matchAll(/--green-dot-[a-z-]+/g)) expect(STYLE).toContain(`var(${property},`);
  },
  html(code) {
    for (const [, attributes = ""] of code.matchAll(/<green-dot ([^>]*)>/g)) expect(attributes).toMatch(/^(user|name)="/);
    for (const [, map = ""] of code.matchAll(/<script type="importmap">(.*)<\/script>/g)) {
      const { imports } = JSON.parse(map) as { imports: Record<string, string> };
      expect(Object.keys(imports)).toEqual(["greendot"]);
    }
  },
  http(code) {
    // As strict as the page that is opened under it in packaging/csp.
    const { greendot } = JSON.parse(readFileSync(new URL("../packaging/csp/package.json", import.meta.url), "utf8"));
    const directives = (text: string) => text.trim().replace(/wss?:\/\/[^ ;]+/, "SOCKET").split("; ").filter(it => it !== "base-uri 'none'");
    expect(directives(code.replace("content-security-policy: ", ""))).toEqual(directives(greendot.csp));
  },
  sh(code) {
    execFileSync("bash", ["-n"], { input: code });
    const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
    for (const [, named] of code.matchAll(/greendot-([\d.]+)\.tgz/g)) expect(named).toBe(version);
  },
};

/** The compiler checks these. */
const COMPILED = ["js", "jsx", "ts"];

test("every block is in a language that is checked", () => {
  const known = [...COMPILED, ...Object.keys(CHECKS)];
  expect(blocks().filter(it => !known.includes(it.language))).toEqual([]);
  expect(blocks().length).toBeGreaterThan(30);
});

test.each(blocks().filter(it => !COMPILED.includes(it.language)))("the $language at line $line", ({ language, code }) =>
  CHECKS[language]?.(code),
);
