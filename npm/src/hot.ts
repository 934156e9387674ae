/**
 * Makes something once: where a hot reload runs the same code again, what the first run made is returned, so that one
 * connection lives on. What was changed in `make` counts after a whole reload. `key` tells several apart.
 */
export function kept<T>(make: () => T, key = "presence"): T {
  const place = globalThis as { [KEPT]?: Map<string, unknown> };
  const all = (place[KEPT] ??= new Map());
  if (!all.has(key)) all.set(key, make());
  return all.get(key) as T;
}

/** On the page itself, because a hot reload may load this file anew, too. */
const KEPT = Symbol.for("greendot.kept");
