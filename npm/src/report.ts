/**
 * Shows an error of the app's own code the way the browser shows uncaught ones, without letting it reach us: a listener
 * that throws harms neither the store nor the other listeners. Later, because `reportError` runs handlers at once.
 */
export function report(error: unknown): void {
  queueMicrotask(() => {
    if (typeof reportError === "function") reportError(error);
    else console.error(error);
  });
}
