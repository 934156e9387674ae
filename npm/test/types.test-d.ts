// Checked by the compiler alone: what the types promise to an app.
import type { Ref } from "vue";
import { openDevtools } from "../src/devtools.js";
import { defineGreenDot } from "../src/element.js";
import { kept } from "../src/hot.js";
import { connect, type LastSeen, type Link, type Mode, NotAllowed, type OfflineView, type Presence, type View } from "../src/index.js";
import { PresenceProvider, useMyPresence, usePresence, usePresenceClient, usePresences } from "../src/react.js";
import { connect as connectSlim } from "../src/slim.js";
import { modeOf, presenceOf } from "../src/svelte.js";
import { fakePresence } from "../src/testing.js";
import { useMyPresence as useMyVuePresence, usePresence as useVuePresence } from "../src/vue.js";

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
  const view = usePresence("ana");
  is<Same<typeof view, View<"ana">>>();
  const plain: View = view;
  return plain.state;
}

// An app's own types of names and notes go in at `connect`, and come out everywhere.
type UserId = `u_${string}`;
type Note = "in a call" | "at lunch";
const typed = connect<UserId, Note>({ url: "/presence", token: () => "token" });
is<Same<typeof typed, Presence<UserId, Note>>>();
typed.watch(["u_1"], changes => {
  for (const it of changes) {
    is<Same<typeof it.user, UserId>>();
    is<Same<typeof it.note, Note | undefined>>();
    if (it.state === "offline") is<Same<typeof it, OfflineView<UserId>>>();
  }
});
// @ts-expect-error no such name
typed.get("ana");
// @ts-expect-error no such note
typed.setNote("on the moon");
typed.setNote("");
is<Same<ReturnType<typeof typed.room>["members"][number]["user"], UserId>>();

export function Typed(props: { id: UserId }) {
  is<Same<ReturnType<typeof usePresenceClient<UserId, Note>>, Presence<UserId, Note>>>();
  const view = usePresence<UserId, Note>(props.id);
  is<Same<typeof view, View<UserId, Note>>>();
  const views = usePresences([props.id]);
  is<Same<typeof views, readonly View<UserId>[]>>();
  const mine = useMyPresence<Note>();
  is<Same<Parameters<typeof mine.setNote>[0], Note | "">>();
  // A client with types of its own goes into the provider as it is.
  void (PresenceProvider({ client: typed }));
}

export function ofVue(id: Ref<UserId>) {
  const view = useVuePresence(id);
  is<Same<typeof view.value, View<UserId>>>();
  const { mode } = useMyVuePresence();
  mode.value = "dnd";
  // @ts-expect-error a state, not a mode
  mode.value = "online";
}

const store = presenceOf(typed, "u_1");
store.subscribe(view => is<Same<typeof view, View<UserId, Note>>>());
modeOf(presence).set("away");

const fake = fakePresence<UserId, Note>({ u_1: "online" });
fake.set("u_2", { state: "online", note: "at lunch" });
// @ts-expect-error no such state
fake.set("u_2", "here");
// @ts-expect-error no such name
fake.set("ana", "online");
const asPresence: Presence<UserId, Note> = fake;
void asPresence;

defineGreenDot(typed, { label: (view, name) => `${name}: ${view.state}` });
openDevtools(typed);
is<Same<ReturnType<typeof kept<Presence>>, Presence>>();
// @ts-expect-error the wasm file is not optional there
connectSlim({ url: "/presence", token: () => "token" });
connectSlim({ url: "/presence", token: () => "token", wasm: "/client_bg.wasm" });
