/**
 * Whether a connection makes sense here: in a page, or in a worker of one. On a server it does not; the runtimes that
 * render pages at the edge call themselves workers too, but not dedicated or shared ones.
 */
export function inBrowser(): boolean {
  return (
    typeof document !== "undefined" ||
    "DedicatedWorkerGlobalScope" in globalThis ||
    "SharedWorkerGlobalScope" in globalThis
  );
}
