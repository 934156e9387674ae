import { type GreenDotOptions, inEnglish } from "./element-options.js";
import { STYLE } from "./element-style.js";
import { Sight } from "./sight.js";
import type { Presence, Stop, View } from "./types.js";
export type { GreenDotOptions };

/** A dot that watches its user while it is on the screen. */
export interface GreenDotElement extends HTMLElement {
  /** Who. The attribute `user` says the same. */
  user: string;
  /** What the dot says, now. */
  readonly view: View;
}

/**
 * Makes `<green-dot user="ana">` known to the page, over this client. The attribute `name` is what the user is called in the
 * dot's name. The dot shows its state as its attributes `state` and `stale`, for style sheets; its parts are `dot` and the
 * state's name; its CSS properties begin with `--green-dot-`.
 */
export function defineGreenDot<User extends string, Note extends string>(
  client: Presence<User, Note>,
  options: GreenDotOptions = {},
): void {
  const { tag = "green-dot", margin = "200px", holdMs = 1_000, label = inEnglish } = options;
  // A hot reload runs this again, and an element cannot be defined anew: the one there goes on.
  if (typeof customElements === "undefined" || customElements.get(tag) !== undefined) return;
  const presence = client as unknown as Presence;
  const sight = new Sight(margin, holdMs);
  // One for all dots; and no content security policy minds it, as it does a style element.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);

  class GreenDot extends HTMLElement implements GreenDotElement {
    static readonly observedAttributes = ["user", "name"];
    readonly #dot: HTMLElement;
    #stop: Stop | undefined;
    /** What it shows. */
    #view: View | undefined;
    #text = "";

    constructor() {
      super();
      const shadow = this.attachShadow({ mode: "open" });
      shadow.adoptedStyleSheets = [sheet];
      this.#dot = shadow.appendChild(document.createElement("span"));
      this.#dot.setAttribute("role", "img");
    }

    get user(): string {
      return this.getAttribute("user") ?? "";
    }

    set user(user: string) {
      this.setAttribute("user", user);
    }

    get view(): View {
      return this.#view?.user === this.user ? this.#view : presence.get(this.user);
    }

    connectedCallback(): void {
      this.#draw();
      sight.observe(this);
    }

    disconnectedCallback(): void {
      sight.unobserve(this);
    }

    attributeChangedCallback(attribute: string): void {
      if (attribute === "user" && this.#stop !== undefined) {
        this.seen(false);
        this.seen(true);
      }
      if (this.isConnected) this.#draw();
    }

    seen(is: boolean): void {
      this.#stop?.();
      this.#stop = is && this.user !== "" ? presence.subscribe(this.user, () => this.#draw()) : undefined;
      // One that nobody looks at keeps what it showed: it may be seen for a moment before the answer is there.
      if (is) this.#draw();
    }

    #draw(): void {
      // Whom it does not watch it does not know, but what it has shown of the same user stays.
      const view = this.#stop === undefined ? this.view : presence.get(this.user);
      const text = label(view, this.getAttribute("name") ?? this.user);
      if (view === this.#view && text === this.#text) return;
      [this.#view, this.#text] = [view, text];
      this.setAttribute("state", view.state);
      this.toggleAttribute("stale", view.stale);
      this.#dot.setAttribute("part", `dot ${view.state}`);
      this.#dot.ariaLabel = text;
      this.#dot.title = text;
    }
  }
  customElements.define(tag, GreenDot);
}
