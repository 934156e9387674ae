// The browser, played by hand: sockets that do what the test says, timers that are counted, and a host that writes down
// what it is told.

export const sockets = [];
const timers = new Set();
const real = {
  setTimeout: globalThis.setTimeout.bind(globalThis),
  clearTimeout: globalThis.clearTimeout.bind(globalThis),
  now: Date.now,
};

class FakeSocket {
  constructor(url, protocol) {
    if (url === "bad") throw new SyntaxError("no such URL");
    Object.assign(this, { url, protocol, readyState: 0, sent: [], closedWith: undefined });
    sockets.push(this);
  }
  send(bytes) {
    // A view into the module's memory: it has to be copied, as the real one does.
    this.sent.push(bytes.slice());
  }
  close(code) {
    if (code !== 1000 && !(code >= 3000 && code <= 4999)) throw new DOMException("a reserved code", "InvalidAccessError");
    this.closedWith = code;
    this.readyState = 2;
  }
}

export function install() {
  globalThis.WebSocket = FakeSocket;
  globalThis.setTimeout = (call, ms) => {
    const id = real.setTimeout(() => {
      timers.delete(id);
      call();
    }, ms);
    timers.add(id);
    return id;
  };
  globalThis.clearTimeout = id => {
    timers.delete(id);
    real.clearTimeout(id);
  };
  Date.now = real.now;
}

export const socketCount = () => sockets.length;
export const timerCount = () => timers.size;
export const urlOf = at => `${sockets[at].url} ${sockets[at].protocol} ${sockets[at].binaryType}`;
export const sentCount = at => sockets[at].sent.length;
export const sentBy = (at, n) => sockets[at].sent[n];
export const closedWith = at => sockets[at].closedWith ?? -1;
export const isHeard = at => [sockets[at].onopen, sockets[at].onmessage, sockets[at].onclose].some(it => it != null);

export function opens(at) {
  sockets[at].readyState = 1;
  sockets[at].onopen?.({ type: "open" });
}
export function says(at, bytes) {
  sockets[at].onmessage?.({ type: "message", data: bytes.slice().buffer });
}
export function saysText(at) {
  sockets[at].onmessage?.({ type: "message", data: "a text" });
}
export function ends(at, code) {
  sockets[at].readyState = 3;
  sockets[at].onclose?.({ type: "close", code });
}

/** A host whose callbacks are written into a log; `when` calls something once, inside one of them. */
export function makeHost() {
  const log = [];
  const hooks = [];
  const told = (name, args) => {
    const entry = [name, ...args].join(" ");
    log.push(entry);
    const at = hooks.findIndex(hook => hook.entry === entry);
    if (at >= 0) hooks.splice(at, 1)[0].call();
  };
  const host = { log, hooks, urlOfNode: "ws://node" };
  for (const name of ["needToken", "changed", "link", "stale", "mode", "error", "beacon"]) {
    host[name] = (...args) => told(name, args);
  }
  host.socket = (url, protocol) => new WebSocket(url, protocol);
  host.url = node => (host.urlOfNode === "bad" ? "bad" : `${host.urlOfNode}${node}`);
  return host;
}
export const takeLog = host => host.log.splice(0).join("\n");
export const when = (host, entry, call) => host.hooks.push({ entry, call });
export const setUrl = (host, url) => (host.urlOfNode = url);

export const wait = ms => new Promise(done => real.setTimeout(done, ms));
export const jump = ms => (Date.now = () => real.now() + ms);
