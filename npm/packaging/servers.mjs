// What a project meets: the presence server, something that serves its files, or Node itself.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { createInterface } from "node:readline";

/** How long anything may take at most. */
export const PATIENCE = 60_000;

/** A program that says in a line that it is ready. */
class Program {
  child;
  lines = [];
  #waiting = new Set();

  constructor(command, args, options = {}) {
    this.child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"], ...options });
    createInterface({ input: this.child.stdout }).on("line", line => {
      this.lines.push(line);
      for (const look of this.#waiting) look(line);
    });
    this.ended = once(this.child, "exit");
  }

  /** The first line that matches, past or to come. */
  async says(pattern) {
    const found = Promise.withResolvers?.() ?? deferred();
    const look = line => pattern.test(line) && found.resolve(pattern.exec(line));
    this.#waiting.add(look);
    this.lines.forEach(look);
    const late = setTimeout(() => found.reject(new Error(`no ${pattern} in:\n${this.lines.join("\n")}`)), PATIENCE);
    this.ended.then(([code]) => found.reject(new Error(`ended (${code}) before ${pattern}:\n${this.lines.join("\n")}`)));
    try {
      return await found.promise;
    } finally {
      clearTimeout(late);
      this.#waiting.delete(look);
    }
  }

  async stop(signal = "SIGTERM") {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal);
    await this.ended;
  }
}

function deferred() {
  let resolve, reject;
  const promise = new Promise((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
}

/** The ready server, with a short grace: who has gone is gone soon. */
export class PresenceServer extends Program {
  static async start(binary) {
    const server = new PresenceServer(binary, ["--dev", "--listen", "127.0.0.1:0", "--grace", "1", "--warmup", "0", "--log", "error"]);
    const [, address] = await server.says(/listening on http:\/\/(\S+)/);
    server.socket = `ws://${address}/presence`;
    return server;
  }
}

/** `next start`, as a page's host would. */
export class NextServer extends Program {
  static async start(folder) {
    const next = join(folder, "node_modules/next/dist/bin/next");
    const server = new NextServer(process.execPath, [next, "start", "--port", "0", "--hostname", "127.0.0.1"], { cwd: folder });
    const [, address] = await server.says(/(http:\/\/127\.0\.0\.1:\d+)/);
    server.address = address;
    return server;
  }
}

/** A folder of files, under a content security policy if there is one. */
export class Static {
  #server;

  static async start(folder, csp) {
    const site = new Static();
    site.#server = createServer(async (request, response) => {
      const path = normalize(new URL(request.url, "http://x").pathname);
      const file = join(folder, path.endsWith("/") ? "index.html" : path);
      try {
        const bytes = await readFile(file);
        response.setHeader("content-type", TYPES[extname(file)] ?? "application/octet-stream");
        if (csp) response.setHeader("content-security-policy", csp);
        response.end(bytes);
      } catch {
        response.statusCode = path === "/favicon.ico" ? 204 : 404;
        response.end();
      }
    });
    site.#server.listen(0, "127.0.0.1");
    await once(site.#server, "listening");
    site.address = `http://127.0.0.1:${site.#server.address().port}`;
    return site;
  }

  async stop() {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
};

/** A program in Node that says whom it sees. */
export class Bot extends Program {
  static async seeEachOther(script, socket) {
    const bot = user => new Bot(process.execPath, [script, socket, user]);
    const ana = bot("ana");
    await ana.says(/^bo is offline$/);
    const bo = bot("bo");
    try {
      await Promise.all([ana.says(/^bo is online$/), bo.says(/^ana is online$/)]);
      ana.lines.length = 0;
      await bo.stop();
      await ana.says(/^bo is offline$/);
    } finally {
      await Promise.all([ana.stop(), bo.stop()]);
    }
  }
}
