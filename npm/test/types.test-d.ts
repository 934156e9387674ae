// Checked by the compiler alone: what the types promise to an app.
import { connect, type LastSeen, type Link, type Mode, NotAllowed, type Presence, type View } from "../src/index.js";
import { usePresence } from "../src/react.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function is<_T extends true>(): void {}

const presence = connect({ url: "/presence", token: async () => "token" });
is<Same<typeof presence, Presence>>();
connect({ urls: ["wss://a.example", new URL("wss://b.example")], token: () => "token", idleAfter: 600 });

// @ts-expect-error a token is not optional
connect({ url: "/presence" });
// @ts-expect-error nor is it a plain string: it runs out
connect({ url: "/presence", token: "token" });

const view = presence.get("ana");
is<Same<typeof view, View>>();
is<Same<View["state"], "online" | "away" | "busy" | "dnd" | "offline" | "unknown">>();
switch (view.state) {
  case "online":
  case "away":
  case "busy":
  case "dnd":
    is<Same<typeof view.note, string | undefined>>();
    // Who is there was not last seen.
    is<Same<typeof view.lastSeen, undefined>>();
    break;
  case "offline":
    is<Same<typeof view.lastSeen, LastSeen | undefined>>();
    break;
  default:
    is<Same<typeof view.state, "unknown">>();
}
// No narrowing first: a note and a last sight can be asked for of anybody.
const anybody = presence.get("bo");
is<Same<typeof anybody.note, string | undefined>>();
is<Same<typeof anybody.lastSeen, LastSeen | undefined>>();
// @ts-expect-error views are read-only
view.stale = false;

const stop = presence.watch(["ana", "bo"], changes => {
  is<Same<typeof changes, readonly View[]>>();
  // @ts-expect-error the list is read-only
  changes.push(view);
});
is<Same<ReturnType<typeof presence.watch>, () => void>>();
stop();
presence.watch("ana", () => {});
presence.watch(["ana"] as const, () => {});

presence.setMode("dnd");
// @ts-expect-error a mode, not a state
presence.setMode("online");
is<Same<typeof presence.mode, Mode>>();
// @ts-expect-error chosen by setMode
presence.mode = "auto";

is<Same<typeof presence.link, Link>>();
presence.onLink(({ state, why, retryMs }) => {
  is<Same<typeof state, "connecting" | "live" | "waiting" | "stopped" | "closed">>();
  is<Same<typeof retryMs, number | undefined>>();
  if (why === "replaced" || why === "load_failed") return;
  // @ts-expect-error no such reason
  if (why === "bored") return;
});
presence.onError(({ code, culprit, next }) => void [code, culprit, next]);
throw new NotAllowed();

export function Dot() {
  const state = usePresence("ana");
  is<Same<typeof state, View>>();
}
