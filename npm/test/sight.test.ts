// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Sight } from "../src/sight.js";

/** The browser's part: the test says what is on the screen. */
class FakeObserver {
  static last: FakeObserver;
  readonly observed = new Set<Element>();
  readonly #tell: IntersectionObserverCallback;

  constructor(tell: IntersectionObserverCallback) {
    this.#tell = tell;
    FakeObserver.last = this;
  }

  observe(element: Element): void {
    this.observed.add(element);
  }

  unobserve(element: Element): void {
    this.observed.delete(element);
  }

  says(...entries: [Element, boolean][]): void {
    const list = entries.map(([target, isIntersecting]) => ({ target, isIntersecting }) as unknown as IntersectionObserverEntry);
    this.#tell(list, this as unknown as IntersectionObserver);
  }
}

const HOLD = 1_000;
let sight: Sight;
let observer: FakeObserver;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("IntersectionObserver", FakeObserver);
  sight = new Sight("200px", HOLD);
  observer = FakeObserver.last;
});
afterEach(() => {
  vi.useRealTimers();
});

function row(): { element: Element & { seen(is: boolean): void }; told: boolean[] } {
  const told: boolean[] = [];
  const element = Object.assign(document.createElement("i"), { seen: (is: boolean) => void told.push(is) });
  sight.observe(element);
  return { element, told };
}

test("who comes into sight is told at once, who leaves only after the hold", () => {
  const { element, told } = row();
  observer.says([element, false]);
  observer.says([element, true]);
  expect(told).toEqual([true]);
  observer.says([element, false]);
  vi.advanceTimersByTime(HOLD - 1);
  expect(told).toEqual([true]);
  vi.advanceTimersByTime(1);
  expect(told).toEqual([true, false]);
});

test("who is back within the hold never left; the next time it is held as long as ever", () => {
  const { element, told } = row();
  observer.says([element, true]);
  for (let turn = 0; turn < 5; turn++) {
    observer.says([element, false]);
    vi.advanceTimersByTime(HOLD - 1);
    observer.says([element, true]);
  }
  vi.advanceTimersByTime(10 * HOLD);
  expect(told).toEqual([true]);
});

test("each is held for as long, and one timer does for a thousand", () => {
  const rows = Array.from({ length: 1_000 }, row);
  observer.says(...rows.map(it => [it.element, true] as [Element, boolean]));
  for (const [at, { element }] of rows.entries()) {
    if (at % 100 === 0) vi.advanceTimersByTime(10);
    observer.says([element, false]);
  }
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(HOLD - 90);
  expect(rows.filter(it => it.told.length === 2)).toHaveLength(100);
  vi.advanceTimersByTime(90);
  expect(rows.every(it => it.told.length === 2)).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test("who is taken out of the page is let go at once, and not told again", () => {
  const { element, told } = row();
  observer.says([element, true]);
  observer.says([element, false]);
  sight.unobserve(element);
  expect(told).toEqual([true, false]);
  expect(observer.observed.size).toBe(0);
  vi.advanceTimersByTime(2 * HOLD);
  expect(told).toEqual([true, false]);
});
