import type { Link, Mode, State, View } from "greendot";

export const STATE_WORDS: Record<State, string> = {
  online: "Online",
  away: "Away",
  busy: "Busy",
  dnd: "Do not disturb",
  offline: "Offline",
  unknown: "Can’t tell",
};

export const MODE_WORDS: Record<Mode, string> = {
  auto: "Automatic",
  away: "Away",
  busy: "Busy",
  dnd: "Do not disturb",
  invisible: "Invisible",
};

/** A name as it stands in a sentence. */
export function nice(name: string): string {
  return name.replace(/^./u, first => first.toUpperCase());
}

/** Names, or other words, as a sentence lists them. */
export function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} and ${last}`;
}

/** What to say beside a dot. */
export function aboutView(view: View, now: number): string {
  if (view.state === "offline" && view.lastSeen !== undefined) {
    const { at, coarse } = view.lastSeen;
    return `${STATE_WORDS.offline} · last seen ${coarse ?? ago(now - at.getTime())}`;
  }
  // Connected, and yet unknown: the server has just started, and waits for who may be on the way back.
  if (view.state === "unknown" && !view.stale) return `${STATE_WORDS.unknown} yet`;
  const word = STATE_WORDS[view.state];
  return view.note === undefined ? word : `${word} · ${view.note}`;
}

/** A span in the words that people use for it. */
export function ago(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ago`;
  const days = Math.floor(hours / 24);
  return days === 1 ? "yesterday" : `${days} days ago`;
}

/** What is to be said of the link; nothing while all is well. `online`: whether the browser has a network. */
export function aboutLink(link: Link, wasLive: boolean, online: boolean): string | undefined {
  // Known at once, while the link finds out some seconds later.
  if (!online && link.state !== "stopped" && link.state !== "closed") {
    return "This device is offline: what you see may be old.";
  }
  switch (link.state) {
    case "live":
      return link.stale ? "The server cannot see everything just now: what you see may be old." : undefined;
    case "connecting":
    case "waiting":
      return wasLive ? "Reconnecting… what you see may be old." : "Connecting…";
    case "stopped":
      return STOPPED[link.why ?? "lost"] ?? `The connection was refused (${link.why}).`;
    case "closed":
      return "You have signed out.";
  }
}

/** Why a link has stopped, where there is more to say than the code's name. */
const STOPPED: Partial<Record<NonNullable<Link["why"]>, string>> = {
  replaced: "Opened in another tab, which has taken this one’s place.",
  signed_out: "You have ended this page from another one.",
  revoked: "This account’s access was taken back.",
  not_allowed: "This user may not connect.",
  bad_token: "The server does not believe who you are.",
  wrong_version: "The server speaks another version. Reload the page.",
  load_failed: "A part of this page did not load.",
};
