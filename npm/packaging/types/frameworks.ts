// The bindings, with the frameworks' own declarations taken as they are.
import type { Link, Mode, Presence, View } from "greendot";
import * as react from "greendot/react";
import * as svelte from "greendot/svelte";
import * as runes from "greendot/svelte/runes";
import * as vue from "greendot/vue";
import { type Ref, shallowRef } from "vue";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function is<_T extends true>(): void {}

type UserId = `u_${string}`;
declare const client: Presence<UserId, "at lunch">;
declare const id: UserId;

export function Contact() {
  const view = react.usePresence(id);
  is<Same<typeof view, View<UserId>>>();
  is<Same<ReturnType<typeof react.useConnection>, Link>>();
  const [, setMode] = react.useMyMode();
  is<Same<Parameters<typeof setMode>[0], Mode>>();
  return react.PresenceProvider({ client, children: view.state });
}

export function setup() {
  const view = vue.usePresence<UserId, "at lunch">(() => id);
  is<Same<typeof view.value, View<UserId, "at lunch">>>();
  const mode: Ref<Mode> = vue.useMyPresence().mode;
  return [mode, shallowRef(view.value.note)];
}

svelte.presenceOf(client, id).subscribe(view => is<Same<typeof view, View<UserId, "at lunch">>>());
const current = runes.usePresence(() => id).current;
is<Same<typeof current, View<UserId>>>();
