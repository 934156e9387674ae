import { errorNameOf, LINKS, MODES, whyOf } from "./codes.js";
import type { Engine, EngineClass, Host, PageEvent } from "./engine.js";
import { GreendotError, isNotAllowed, wrapped } from "./errors.js";
import { LaterRooms } from "./later-rooms.js";
import { LinkStatus } from "./link.js";
import { Listeners } from "./listeners.js";
import { INSIDE, type Inside } from "./inside.js";
import type { Load, WasmSource } from "./load.js";
import type { Settings } from "./options.js";
import type { Own } from "./own.js";
import { warnOfStranger } from "./misuse.js";
import { bindPage, pageNow } from "./page.js";
import * as PAGE from "./page-events.js";
import { Parts } from "./parts.js";
import { randomWords } from "./random.js";
import { Rows } from "./rows.js";
import { claimSession, keepMode, keptMode, releaseSession, renewSession } from "./session.js";
import { NO_SESSIONS } from "./sources.js";
import { besideSocket } from "./url.js";
import type { Link, Mode, OwnSession, Presence, Room, Stop, View } from "./types.js";

/**
 * Clients that are not closed. A timer holds nobody, so that a closed one can be collected with all it holds; an open one must
 * not be, even if the app has lost it.
 */
const open = new Set<Client>();

/** After so many sockets in a row that did not open, polls are tried. */
const BLOCKED = 3;

/** The TypeScript half of a client. What is decided is decided in the wasm half; until that is loaded, wishes wait here. */
export class Client implements Presence {
  readonly #settings: Settings;
  readonly #load: (() => Promise<EngineClass>) | undefined;
  readonly #rows = new Rows();
  readonly #parts = new Parts(this.#rows);
  readonly #rooms: LaterRooms;
  readonly #link = new LinkStatus();
  readonly #modes = new Listeners<Mode>();
  readonly #errors = new Listeners<GreendotError>();
  #engine: Engine | undefined;
  #loading = false;
  #session: string | undefined;
  #renewed = false;
  #mode: Mode = "auto";
  #modeChosen = false;
  #note: string | undefined;
  readonly #own = new Listeners<readonly OwnSession[]>();
  #sessions = NO_SESSIONS;
  #ownLoaded: Promise<Own> | undefined;
  #socket: WebSocket | undefined;
  /** Who is told of each socket. */
  readonly #taps = new Set<(socket: WebSocket) => void>();
  /** How many sockets in a row have not opened. */
  #blocked = 0;
  /** What stands in for sockets, once it was needed, and whether it does now. */
  #polls: (typeof import("./poll.js"))["PollSocket"] | undefined;
  #polled = false;
  #unbind: Stop = () => {};
  /** Whether the app was told why the link is about to stop. */
  #refusalTold = false;
  /** Whether the console was told that too many users are watched: once says it for all of them. */
  #crowdLogged = false;

  /** Without a loader it is a server's client: closed for ever. */
  constructor(settings: Settings, load: Load | undefined, wasm: WasmSource | undefined) {
    this.#settings = settings;
    this.#load = load && (() => load(wasm));
    this.#rooms = new LaterRooms(this.#rows, load && (error => this.#notLoaded(error, "rooms")));
  }

  watch(users: string | readonly string[], listener: (changes: readonly View[]) => void): Stop {
    return this.#parts.add(namesOf(users, listener, "watch"), listener, false);
  }

  subscribe(users: string | readonly string[], listener: () => void): Stop {
    return this.#parts.add(namesOf(users, listener, "subscribe"), () => listener(), true);
  }

  get(user: string): View {
    if (DEV) warnOfStranger(user, () => this.#rows.isWatched(user));
    return this.#rows.get(user);
  }

  room(id: string): Room {
    if (typeof id !== "string") {
      throw badCall("room", "Give the room's id: room(id).");
    }
    return this.#rooms.get(id);
  }

  get mode(): Mode {
    return this.#mode;
  }

  setMode(mode: Mode): void {
    const number = MODES.indexOf(mode);
    if (number < 0) {
      const next = `Give one of ${MODES.join(", ")}.`;
      throw new GreendotError("bad_mode", `"${mode}" is no mode`, "the call of setMode", next);
    }
    this.#modeChosen = true;
    this.#engine?.setMode(number);
    this.#modeIs(mode);
  }

  onMode(listener: (mode: Mode) => void): Stop {
    return this.#modes.add(listener);
  }

  setNote(note: string): void {
    this.#note = note;
    this.#engine?.setNote(note);
  }

  get sessions(): readonly OwnSession[] {
    return this.#sessions;
  }

  onSessions(listener: (sessions: readonly OwnSession[]) => void): Stop {
    const stop = this.#own.add(listener);
    this.#withOwn(own => own.want(true));
    return () => {
      stop();
      if (!this.#own.empty) return;
      this.#sessions = NO_SESSIONS;
      this.#withOwn(own => own.want(false));
    };
  }

  endSession(id: string): void {
    this.#withOwn(own => own.end(id));
  }

  get link(): Link {
    return this.#link.now;
  }

  onLink(listener: (link: Link) => void): Stop {
    return this.#link.onChange(listener);
  }

  onError(listener: (error: GreendotError) => void): Stop {
    return this.#errors.add(listener);
  }

  connect(): void {
    if (!this.#load) return;
    this.#refusalTold = false;
    if (!open.has(this)) this.#open();
    if (this.#engine) this.#engine.connect();
    else if (!this.#loading) void this.#start(this.#load);
  }

  close(): void {
    this.#shut(engine => engine.disconnect());
  }

  signOut(): void {
    this.#shut(engine => engine.signOut());
  }

  /** For the devtools panel, which is a file of its own: hence no private name, and a symbol that both know. */
  [INSIDE](): Inside {
    return { rows: this.#rows, taps: this.#taps, socket: this.#socket };
  }

  /** Does something with what few pages use, which is loaded then. */
  #withOwn(deed: (own: Own) => void): void {
    if (!this.#load) return;
    this.#ownLoaded ??= import("./own.js").then(({ Own }) => {
      const own = new Own(sessions => this.#sessionsAre(sessions));
      this.#taps.add(own.tap);
      if (this.#socket) own.tap(this.#socket);
      return own;
    });
    this.#ownLoaded.then(deed, error => {
      this.#ownLoaded = undefined;
      this.#notLoaded(error, "own");
    });
  }

  /** What few pages use did not load. */
  #notLoaded(error: unknown, file: string): void {
    this.#fail(wrapped(error, "load_failed", "a part did not load", `the file ${file}.js`, "Ask again."));
  }

  #sessionsAre(sessions: readonly OwnSession[]): void {
    this.#sessions = sessions;
    this.#own.tell(sessions);
  }

  #open(): void {
    open.add(this);
    const session = claimSession(this.#settings.session, this.#session);
    // Another client of this page has the id now, and a wasm client keeps the one it was made with.
    if (session !== this.#session && this.#engine) this.#detach();
    this.#session = session;
    this.#unbind = bindPage({ page: event => this.#page(event), input: elsewhere => this.#engine?.input(elsewhere) });
    // What may have happened to the page while nobody listened.
    for (const event of pageNow()) this.#engine?.page(event);
  }

  #shut(how: (engine: Engine) => void): void {
    if (!open.delete(this)) return;
    this.#unbind();
    if (this.#session) releaseSession(this.#session);
    if (this.#engine) how(this.#engine);
    this.#sessions = NO_SESSIONS;
    this.#linkIs({ state: "closed" });
  }

  async #start(load: () => Promise<EngineClass>): Promise<void> {
    this.#loading = true;
    this.#linkIs({ state: "connecting" });
    try {
      const engine = await load();
      if (this.#settings.debug) this.#taps.add((await import("./debug.js")).logFrames);
      if (open.has(this)) this.#attach(engine);
    } catch (error) {
      if (open.has(this)) this.#linkIs({ state: "stopped", why: "load_failed" });
      const next = "Call connect() to try again.";
      this.#fail(wrapped(error, "load_failed", "the wasm client did not start", "the wasm file", next));
    } finally {
      this.#loading = false;
    }
  }

  #attach(engineClass: EngineClass): void {
    const { nodes, idleAfterSecs, device } = this.#settings;
    const [seed = 0, seed2 = 0] = randomWords(2);
    const engine = new engineClass(this.#host(), this.#session ?? "", nodes.length, idleAfterSecs, seed, seed2);
    this.#engine = this.#rows.engine = engine;
    // All that goes into the hello comes before the dial: who is invisible is so from the first frame on.
    const [mode = 0, revision] = keptMode();
    if (revision) engine.setMode(mode, revision);
    if (this.#modeChosen) engine.setMode(MODES.indexOf(this.#mode));
    if (this.#note !== undefined) engine.setNote(this.#note);
    if (device) engine.device(device);
    this.#parts.attach(engine);
    this.#rooms.real?.attach();
    for (const event of pageNow()) engine.page(event);
    engine.connect();
  }

  #detach(): void {
    this.#engine = undefined;
    this.#rows.detach();
    this.#rooms.real?.detach();
  }

  #page(event: PageEvent): void {
    this.#engine?.page(event);
    // A wasm file that did not come for want of a network may come now.
    const better = event === PAGE.online || event === PAGE.visible || event === PAGE.back;
    if (better && this.#link.now.why === "load_failed") this.connect();
  }

  /**
   * Another page goes by this one's id, as after a duplication that storage did not show: this one takes another id. Once,
   * because a fresh one is nobody else's.
   */
  #linkTold(link: Omit<Link, "stale">): void {
    const { session } = this.#settings;
    if (link.why !== "replaced" || session || !this.#session || this.#renewed) {
      this.#linkIs(link);
      return;
    }
    this.#renewed = true;
    this.#session = renewSession(this.#session);
    this.#detach();
    this.connect();
  }

  #linkIs(link: Omit<Link, "stale">): void {
    const { state, why } = link;
    if (state === "stopped" && (why === "bad_token" || why === "not_allowed") && !this.#refusalTold) {
      const next = "Give what the server's authenticator takes, then call connect().";
      this.#fail(new GreendotError(why, "the server refused it", "the token", next));
    }
    // A live link that goes by polls says so.
    this.#link.set(state === "live" && this.#polled ? { ...link, why: "polled" } : link);
    this.#followLink();
  }

  /** Views are stale when the link is. */
  #followLink(): void {
    if (!this.#rows.setStale(this.#link.now.stale)) return;
    this.#parts.staleChanged();
    this.#rooms.real?.staleChanged();
  }

  #modeIs(mode: Mode): void {
    if (this.#mode === mode) return;
    this.#mode = mode;
    queueMicrotask(() => this.#modes.tell(mode));
  }

  /** A socket, or what stands in for one where none opens. */
  #dial(url: string, protocol: string): WebSocket {
    const PollSocket = this.#blocked < BLOCKED ? undefined : this.#polls;
    this.#polled = PollSocket !== undefined;
    if (PollSocket) {
      this.#socket = undefined;
      const usable = (polls: boolean): void => void (this.#blocked = polls ? BLOCKED : 0);
      return new PollSocket(url, () => new WebSocket(url, protocol), usable) as unknown as WebSocket;
    }
    const socket = new WebSocket(url, protocol);
    this.#blocked++;
    socket.addEventListener("open", () => void (this.#blocked = 0));
    if (this.#blocked === BLOCKED) void import("./poll.js").then(it => (this.#polls = it.PollSocket), () => {});
    this.#socket = socket;
    for (const tap of this.#taps) tap(socket);
    return socket;
  }

  async #token(dial: number): Promise<void> {
    const engine = this.#engine;
    try {
      const token: unknown = await this.#settings.token();
      if (typeof token !== "string") throw new TypeError(`it gave ${token === null ? "null" : typeof token}, no string`);
      engine?.token(dial, token);
    } catch (error) {
      const next = "It is asked again by itself.";
      this.#fail(wrapped(error, "token_failed", "there is no token", "the token function", next));
      this.#refusalTold = isNotAllowed(error);
      engine?.tokenFailed(dial, this.#refusalTold);
    }
  }

  /** Something was not done. In a microtask, because a row may be refused inside the call that makes it. */
  #refused(code: number, about: number, text: string): void {
    queueMicrotask(() => {
      const name = errorNameOf(code);
      // What these are about is a row.
      const row = name === "bad_user" || name === "too_many_watches" ? this.#rows.byNumber(about) : undefined;
      const culprit = row ? `the user "${row.user}"` : "what the app asked for";
      this.#fail(new GreendotError(name, text, culprit, "All else goes on."));
    });
  }

  #fail(error: GreendotError): void {
    if (this.#errors.empty) {
      const crowd = error.code === "too_many_watches";
      if (!(crowd && this.#crowdLogged)) console.error(error);
      this.#crowdLogged ||= crowd;
    } else queueMicrotask(() => this.#errors.tell(error));
  }

  /** What the wasm half calls. */
  #host(): Host {
    const { nodes } = this.#settings;
    return {
      needToken: dial => void this.#token(dial),
      url: node => nodes[node] ?? "",
      socket: (url, protocol) => this.#dial(url, protocol),
      changed: (part, row) => this.#parts.changed(part, row),
      room: room => this.#rooms.real?.changed(room),
      link: (state, code, retryMs) => this.#linkTold(linkOf(state, code, retryMs)),
      stale: is => {
        this.#link.setStale(is);
        this.#followLink();
      },
      mode: (mode, revision) => {
        if (revision) keepMode(mode, revision);
        this.#modeIs(MODES[mode] ?? "auto");
      },
      error: (code, about, text) => this.#refused(code, about, text),
      beacon: (node, ticket) => sendClosing(nodes[node] ?? "", ticket),
    };
  }
}

/** Tells a node that this page goes, over a connection of its own. */
function sendClosing(node: string, ticket: string): void {
  globalThis.navigator?.sendBeacon?.(besideSocket(node, "closing"), ticket);
}

/** From JavaScript anything can come, and would fail far from here. */
function namesOf(users: unknown, listener: unknown, call: string): readonly string[] {
  const list: unknown = typeof users === "string" ? [users] : users;
  if (Array.isArray(list) && list.every(user => typeof user === "string") && typeof listener === "function") return list;
  throw badCall(call, `Give names and a function: ${call}(names, changes => …).`);
}

function badCall(call: string, next: string): GreendotError {
  return new GreendotError("bad_call", "it cannot be meant", `the call of ${call}`, next);
}

function linkOf(state: number, code: number, retryMs: number): Omit<Link, "stale"> {
  const name = LINKS[state] ?? "closed";
  const why = whyOf(code);
  return { state: name, ...(why && { why }), ...(name === "waiting" && retryMs >= 0 && { retryMs }) };
}
