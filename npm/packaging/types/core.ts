// What an app writes, with the package's declarations looked through as well.
import { connect, GreendotError, NotAllowed, type OfflineView, type Presence, type View } from "greendot";
import { openDevtools } from "greendot/devtools";
import { defineGreenDot, type GreenDotElement } from "greendot/element";
import { kept } from "greendot/hot";
import { STATES, type ServerFrame } from "greendot/protocol";
import { connect as connectSlim } from "greendot/slim";
import { fakePresence } from "greendot/testing";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function is<_T extends true>(): void {}

type UserId = `u_${string}`;
type Note = "in a call" | "at lunch";

const presence = kept(() => connect<UserId, Note>({ url: "/presence", token: async () => "token" }));
is<Same<typeof presence, Presence<UserId, Note>>>();
const stop = presence.watch(["u_1"], changes => {
  for (const view of changes) {
    is<Same<typeof view, View<UserId, Note>>>();
    if (view.state === "offline") is<Same<typeof view, OfflineView<UserId>>>();
    else is<Same<typeof view.lastSeen, undefined>>();
  }
});
is<Same<ReturnType<typeof stop>, void>>();
// @ts-expect-error no such name
presence.get("ana");
presence.onError(error => is<Same<typeof error, GreendotError>>());
if (new NotAllowed() instanceof GreendotError) openDevtools(presence);

defineGreenDot(presence, { label: (view, name) => `${name}: ${view.state}`, holdMs: 500 });
const dot = document.querySelector<GreenDotElement>("green-dot");
is<Same<NonNullable<typeof dot>["view"]["state"], View["state"]>>();

// @ts-expect-error the wasm file is not optional there
connectSlim({ url: "/presence", token: () => "token" });
const fake: Presence = fakePresence({ ana: "online" });
fake.get("ana");
is<Same<(typeof STATES)[number], View["state"]>>();
type Beat = Extract<ServerFrame, { type: "beat_answer" }>;
is<Same<Beat["number"], number>>();
