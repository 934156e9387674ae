import { PANEL_STYLE } from "./devtools-style.js";
import { INSIDE, type Inside } from "./inside.js";
import { type Line, Trace } from "./trace.js";
import type { Presence, Stop } from "./types.js";

/** Drawn anew at most so often, in ms. */
const EVERY_MS = 250;

/**
 * Puts a panel into the page that shows what a client does: its link, round trips, who is watched with which version, and each
 * frame in words. What it returns takes it away. For development: it is a file of its own, and nothing else loads it.
 */
export function openDevtools<User extends string, Note extends string>(client: Presence<User, Note>): Stop {
  if (typeof document === "undefined" || !(INSIDE in client)) return () => {};
  const panel = new Panel(client as unknown as Presence & { [INSIDE](): Inside });
  return () => panel.close();
}

class Panel {
  readonly #client: Presence & { [INSIDE](): Inside };
  readonly #host = document.createElement("div");
  readonly #fields = new Map<string, HTMLElement>();
  readonly #trace = new Trace(() => this.#due());
  readonly #stops: Stop[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #shown: Line | undefined;

  constructor(client: Presence & { [INSIDE](): Inside }) {
    this.#client = client;
    const root = this.#host.attachShadow({ mode: "open" });
    // Neither a style element nor markup in a text: pages whose security policy is strict have the panel, too.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(PANEL_STYLE);
    root.adoptedStyleSheets = [sheet];
    root.append(this.#body());
    const { taps, socket } = client[INSIDE]();
    const tap = (it: WebSocket): void => void this.#stops.push(this.#trace.follow(it));
    taps.add(tap);
    this.#stops.push(() => taps.delete(tap), client.onLink(() => this.#due()), client.onMode(() => this.#due()));
    if (socket !== undefined) tap(socket);
    document.body.append(this.#host);
    this.#draw();
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const stop of this.#stops) stop();
    this.#host.remove();
  }

  #body(): HTMLElement {
    const field = <Tag extends keyof HTMLElementTagNameMap>(tag: Tag, name: string): HTMLElementTagNameMap[Tag] => {
      const made = element(tag);
      this.#fields.set(name, made);
      return made;
    };
    const figures = FIGURES.map(([name, label]) => element("div", {}, element("dt", {}, label), field("dd", name)));
    const heads = ["user", "state", "", "version", "watchers"].map(label => element("th", {}, label));
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), field("tbody", "rows"));
    const clear = element("button", { type: "button" }, "Clear");
    clear.addEventListener("click", () => this.#clear());
    const lines = field("ol", "lines");
    lines.tabIndex = 0;
    lines.ariaLabel = "Frames, the newest last";
    return element(
      "details",
      {},
      element("summary", {}, element("i"), " greendot ", field("b", "link")),
      element("dl", {}, ...figures),
      element("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Watched users" }, table),
      element("header", {}, "Frames", clear),
      lines,
    );
  }

  #clear(): void {
    this.#trace.lines.length = 0;
    this.#fields.get("lines")?.replaceChildren();
  }

  #due(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#draw();
    }, EVERY_MS);
  }

  #draw(): void {
    const { link, mode } = this.#client;
    const { sent, heard, rtt, epoch, versions, lines } = this.#trace;
    const rows = [...this.#client[INSIDE]().rows.all()];
    const set = (name: string, text: string): void => {
      const field = this.#fields.get(name);
      if (field !== undefined && field.textContent !== text) field.textContent = text;
    };
    this.#host.dataset.link = link.state;
    this.#host.toggleAttribute("data-stale", link.stale);
    set("link", link.state + (link.why === undefined ? "" : ` (${link.why})`) + (link.stale && link.state === "live" ? ", stale" : ""));
    set("mode", mode);
    set("rtt", rtt === undefined ? "–" : `${rtt < 10 ? rtt.toFixed(1) : Math.round(rtt)} ms`);
    set("epoch", String(epoch ?? "–"));
    set("sent", `${sent.frames} (${sent.bytes} B)`);
    set("heard", `${heard.frames} (${heard.bytes} B)`);
    set("watched", String(rows.length));
    const cells = rows.slice(0, SHOWN).map(({ user, number, parts, view }) => {
      const now = this.#client.get(user);
      // On the wire a row's number is one more.
      return row([user, now.state, now.stale ? "stale" : "", String(versions.get(number + 1) ?? "–"), String(parts)], view.state);
    });
    if (rows.length > SHOWN) cells.push(row([`and ${rows.length - SHOWN} more`, "", "", "", ""], ""));
    this.#fields.get("rows")?.replaceChildren(...cells);
    this.#drawLines(lines);
  }

  /** Only what is new: somebody may be selecting a line. */
  #drawLines(lines: readonly Line[]): void {
    const list = this.#fields.get("lines");
    if (list === undefined) return;
    const below = list.scrollTop + list.clientHeight >= list.scrollHeight - 4;
    const from = this.#shown === undefined ? 0 : lines.indexOf(this.#shown) + 1;
    for (const line of lines.slice(from)) {
      const item = document.createElement("li");
      item.className = line.way;
      item.textContent = `${new Date(line.at).toTimeString().slice(0, 8)} ${ARROWS[line.way]} ${line.text}`;
      item.title = line.text;
      list.append(item);
    }
    while (list.childElementCount > Math.max(lines.length, 1)) list.firstElementChild?.remove();
    this.#shown = lines.at(-1);
    if (below) list.scrollTop = list.scrollHeight;
  }
}

function row(cells: readonly string[], state: string): HTMLTableRowElement {
  const line = document.createElement("tr");
  line.dataset.state = state;
  for (const text of cells) line.insertCell().textContent = text;
  return line;
}

/** So many of the watched are listed. */
const SHOWN = 100;

const ARROWS = { sent: "↑", heard: "↓", socket: "·" } as const;

const FIGURES = [
  ["rtt", "round trip"],
  ["mode", "own mode"],
  ["epoch", "epoch"],
  ["sent", "sent"],
  ["heard", "heard"],
  ["watched", "watched"],
] as const;

function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
