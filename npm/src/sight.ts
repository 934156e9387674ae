/** Something that wants to know whether it is on the screen. */
export interface Seen {
  /** Told again only when it changes. */
  seen(is: boolean): void;
}

/**
 * Which elements are on the screen, or near it. One observer for all: a page may have thousands. An element that has left is
 * held for a moment, so that a list that is scrolled back and forth stops and starts nothing.
 */
export class Sight {
  readonly #observer: IntersectionObserver;
  readonly #holdMs: number;
  /** Those that have left, with the time at which that counts; in order, because all are held equally long. */
  readonly #leaving = new Map<Element & Seen, number>();
  readonly #inside = new WeakSet<Element & Seen>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `margin` in CSS: how far outside of the screen still counts. */
  constructor(margin: string, holdMs: number) {
    this.#holdMs = holdMs;
    this.#observer = new IntersectionObserver(
      entries => {
        for (const { target, isIntersecting } of entries) this.#moved(target as Element & Seen, isIntersecting);
      },
      // A scroll margin holds for scrollers inside of the page, too; where browsers do not know it, for the screen alone.
      { ["scrollMargin" in IntersectionObserver.prototype ? "scrollMargin" : "rootMargin"]: margin },
    );
  }

  observe(element: Element & Seen): void {
    this.#observer.observe(element);
  }

  /** It is gone, at once: what a framework takes out of the page is not scrolled. */
  unobserve(element: Element & Seen): void {
    this.#observer.unobserve(element);
    this.#leaving.delete(element);
    if (this.#inside.delete(element)) element.seen(false);
  }

  #moved(element: Element & Seen, isIntersecting: boolean): void {
    this.#leaving.delete(element);
    if (!isIntersecting) {
      if (!this.#inside.has(element)) return;
      this.#leaving.set(element, performance.now() + this.#holdMs);
      this.#wait();
    } else if (!this.#inside.has(element)) {
      this.#inside.add(element);
      element.seen(true);
    }
  }

  #wait(): void {
    const [first] = this.#leaving.values();
    if (this.#timer !== undefined || first === undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const now = performance.now();
      for (const [element, at] of this.#leaving) {
        // Timers may be a little early.
        if (at - 1 > now) break;
        this.#leaving.delete(element);
        this.#inside.delete(element);
        element.seen(false);
      }
      this.#wait();
    }, first - performance.now());
  }
}
