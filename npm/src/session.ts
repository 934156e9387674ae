import { randomWords } from "./random.js";

/** Where a tab keeps its id. `sessionStorage` belongs to one tab and survives its reloads: just what a session is. */
const KEY = "greendot.session";

/** Ids that open clients of this page go by: two of them under one id would push each other out for ever. */
const taken = new Set<string>();

/**
 * The id to connect under: the app's own choice, or the one this client had `before`, or this tab's; where that is in
 * use already, a fresh one.
 */
export function claimSession(chosen: string | undefined, before: string | undefined): string {
  const id = chosen ?? free(before) ?? tabId();
  taken.add(id);
  return id;
}

/** Lets another client of this page have the id. */
export function releaseSession(id: string): void {
  taken.delete(id);
}

function tabId(): string {
  const stored = read();
  if (stored === undefined) {
    const id = randomId();
    write(id);
    return id;
  }
  return free(stored) ?? randomId();
}

function free(id: string | undefined): string | undefined {
  return id === undefined || taken.has(id) ? undefined : id;
}

function randomId(): string {
  return Array.from(randomWords(4), word => word.toString(36).padStart(7, "0")).join("");
}

/** Storage may be missing (a worker) or forbidden (a sandboxed frame); then the id lives as long as the client. */
function read(): string | undefined {
  try {
    return sessionStorage.getItem(KEY) || undefined;
  } catch {
    return undefined;
  }
}

function write(id: string): void {
  try {
    sessionStorage.setItem(KEY, id);
  } catch {
    // See `read`.
  }
}
