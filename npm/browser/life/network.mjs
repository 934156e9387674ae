// What stands between pages and the server: a network that lies, and a device that falls silent.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import net from "node:net";

/**
 * A device that says hello and then nothing, no pong either: its session ends when its lease runs out. To wait for that is
 * to wait for a whole ttl by the server's own clock.
 */
export async function silentDevice(port, user) {
  const request = http.request({
    port,
    path: "/presence",
    headers: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": randomBytes(16).toString("base64"),
      "sec-websocket-protocol": "greendot.v1.json",
    },
  });
  request.end();
  const [, socket] = await once(request, "upgrade");
  const hello = Buffer.from(JSON.stringify({ type: "hello", session: "silent", token: user }));
  const mask = randomBytes(4);
  const masked = hello.map((byte, at) => byte ^ mask[at % 4]);
  socket.on("error", () => {});
  socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | hello.length]), mask, masked]));
  socket.resume();
  return socket;
}

/** A network between pages and server, whose sockets can be made to go nowhere while both ends think that they stand. */
export class Proxy {
  #server;
  #pairs = new Set();
  #stalled = false;
  /** The first line of each request that was not for a socket, and its body. */
  requests = [];

  static async start(port) {
    const proxy = new Proxy();
    proxy.#server = net.createServer(near => proxy.#carry(near, port));
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port() {
    return this.#server.address().port;
  }

  /** From now on nothing passes on presence sockets, those to come included; nobody is told. */
  stall(is) {
    this.#stalled = is;
  }

  close() {
    this.#server.close();
    for (const pair of this.#pairs) pair.forEach(end => end.destroy());
  }

  #carry(near, port) {
    const far = net.connect(port, "127.0.0.1");
    const pair = [near, far];
    this.#pairs.add(pair);
    let isSocket;
    const pass = (to, first) => bytes => {
      if (first) isSocket = this.#note(bytes, isSocket);
      if (!(isSocket && this.#stalled)) to.write(bytes);
    };
    near.on("data", pass(far, true));
    far.on("data", pass(near, false));
    for (const end of pair) {
      end.on("error", () => {});
      end.on("close", () => {
        if (isSocket && this.#stalled) return;
        pair.forEach(other => other.destroy());
        this.#pairs.delete(pair);
      });
    }
  }

  #note(bytes, isSocket) {
    const head = bytes.toString("latin1");
    if (isSocket || head.startsWith("GET /presence")) return true;
    if (head.startsWith("POST ")) this.requests.push({ line: head.split("\r\n", 1)[0], body: head.split("\r\n\r\n")[1] });
    return false;
  }
}
