// Proves the package as people get it: each project beside this file takes the packed tarball, is built for production, and
// is opened in Chromium against the real server, until two people see each other's dots come and go.
//
//     node packaging/run.mjs [--lock] PROJECT…
//
// `cargo xtask test --only packaging-all` calls it for all; `--lock` writes the lock files anew instead.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Bot, NextServer, PresenceServer, Static } from "./servers.mjs";
import { Pages } from "./pages.mjs";

/** Nothing that runs here is to call home. */
const ENVIRONMENT = { ...process.env, NEXT_TELEMETRY_DISABLED: "1" };

/** The steps of an installation, in order. */
const STAMPS = ["installed", "taken"];

const here = import.meta.dirname;
const lock = process.argv.includes("--lock");
const named = process.argv.slice(2).filter(it => !it.startsWith("--"));
const all = readdirSync(here).filter(it => existsSync(join(here, it, "package.json")));
for (const name of named) if (!all.includes(name)) throw new Error(`there is no project ${name}; there are ${all.join(", ")}`);
const projects = named.length > 0 ? named : all;

if (lock) for (const name of projects) writeLock(name);
else await prove(projects);

async function prove(projects) {
  const tarball = needed("GREENDOT_TARBALL");
  const server = await PresenceServer.start(needed("GREENDOT_SERVER_BIN"));
  const pages = await Pages.start(process.env.GREENDOT_CHROMIUM || "/usr/bin/chromium");
  try {
    for (const name of projects) {
      const start = Date.now();
      const project = installed(name, tarball);
      const ready = Date.now();
      await seen(project, server, pages);
      const seconds = ms => `${(ms / 1_000).toFixed(1)} s`;
      console.log(`${name}: ${project.description}: installed in ${seconds(ready - start)}, ${project.kind === "check" ? "checked" : "built and seen"} in ${seconds(Date.now() - ready)}`);
    }
  } finally {
    await pages.close();
    await server.stop();
  }
}

/** A copy of the project with what its lock file says, and the tarball. */
function installed(name, tarball) {
  const folder = join(needed("GREENDOT_PACKAGING"), name);
  const from = join(here, name);
  refuseAddresses(name);
  mkdirSync(folder, { recursive: true });
  for (const old of readdirSync(folder)) if (!["node_modules", ...STAMPS].includes(old)) rmSync(join(folder, old), { recursive: true });
  cpSync(from, folder, { recursive: true, filter: path => !/[/\\](node_modules|dist|\.next|\.parcel-cache)$/.test(path) });
  once(folder, "installed", digest(join(from, "package.json"), join(from, "package-lock.json")), () => npm(folder, "ci"));
  once(folder, "taken", digest(join(from, "package-lock.json"), tarball), () => npm(folder, "install", "--no-save", tarball));
  const { description, greendot = {}, scripts } = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));
  return { name, folder, description, scripts, ...greendot };
}

/** What was made from just this is not made again. */
function once(folder, name, wanted, make) {
  const stamp = join(folder, name);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  // Whatever stands on it is made anew, too.
  for (const later of STAMPS.slice(STAMPS.indexOf(name))) rmSync(join(folder, later), { force: true });
  make();
  writeFileSync(stamp, wanted);
}

async function seen(project, server, pages) {
  const { folder, scripts, kind, csp } = project;
  if (kind === "check") return console.log(npm(folder, "run", "check"));
  if (scripts.build) npm(folder, "run", "build");
  if (kind === "node") return Bot.seeEachOther(join(folder, "main.js"), server.socket);
  const site = scripts.start ? await NextServer.start(folder) : await Static.start(join(folder, "dist"), csp);
  try {
    await pages.seeEachOther(site.address, server.socket);
  } finally {
    await site.stop();
  }
}

function writeLock(name) {
  const folder = join(here, name);
  rmSync(join(folder, "package-lock.json"), { force: true });
  npm(folder, "install", "--package-lock-only", "--omit-lockfile-registry-resolved");
  refuseAddresses(name);
}

/** A lock file must hold for whoever's registry it is read with. */
function refuseAddresses(name) {
  const text = readFileSync(join(here, name, "package-lock.json"), "utf8");
  if (/"resolved": "http/.test(text)) throw new Error(`${name}/package-lock.json names a registry: write it with --lock`);
}

function npm(folder, ...args) {
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  try {
    return execFileSync("npm", [...args, ...quiet], { cwd: folder, stdio: "pipe", encoding: "utf8", env: ENVIRONMENT });
  } catch (error) {
    throw new Error(`npm ${args.join(" ")} failed in ${folder}:\n${error.stdout}${error.stderr}`);
  }
}

function digest(...files) {
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest("hex");
}

function needed(name) {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`${name} is not set: run this by \`cargo xtask test --only packaging\``);
}
