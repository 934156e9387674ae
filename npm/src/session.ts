import { randomWords } from "./random.js";

/**
 * Where a tab keeps its id. `sessionStorage` belongs to one tab and survives its reloads: just what a session is. But a
 * tab that is duplicated, or opened by a script, begins with a copy of it. So a page that leaves says so behind its id;
 * an id that is found without that word is in use elsewhere, or its page died without a word. Then a fresh one is taken.
 */
const KEY = "greendot.session";
const LEFT = "!";

/** Where a tab keeps its user's mode, with the number that the server told it by: to another user's server that says nothing. */
const MODE = "greendot.mode";

/** The id of this page's tab, once it was asked for. */
let tab: string | undefined;

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

/** A fresh id in place of one that another page turned out to go by. */
export function renewSession(id: string): string {
  taken.delete(id);
  const fresh = randomId();
  if (tab === id) write((tab = fresh));
  taken.add(fresh);
  return fresh;
}

function tabId(): string {
  if (tab === undefined) {
    const stored = read();
    const id = stored?.endsWith(LEFT) ? stored.slice(0, -1) : randomId();
    write((tab = id));
    // For as long as the page is there: a closed client may open again.
    if (typeof document !== "undefined") {
      addEventListener("pagehide", () => write(tab + LEFT));
      addEventListener("pageshow", () => write(tab ?? id));
    }
  }
  return free(tab) ?? randomId();
}

function free(id: string | undefined): string | undefined {
  return id === undefined || taken.has(id) ? undefined : id;
}

function randomId(): string {
  return Array.from(randomWords(4), word => word.toString(36).padStart(7, "0")).join("");
}

/** The mode and its number, for the page that follows in this tab: who is invisible stays so though the server loses everything. */
export function keepMode(mode: number, revision: number): void {
  write(`${mode} ${revision}`, MODE);
}

/** What an earlier page of this tab kept. */
export function keptMode(): number[] {
  return (read(MODE) ?? "").split(" ").map(Number);
}

/** Storage may be missing (a worker) or forbidden (a sandboxed frame); then the id lives as long as the client. */
function read(key = KEY): string | undefined {
  try {
    return sessionStorage.getItem(key) || undefined;
  } catch {
    return undefined;
  }
}

function write(text: string, key = KEY): void {
  try {
    sessionStorage.setItem(key, text);
  } catch {
    // See `read`.
  }
}
