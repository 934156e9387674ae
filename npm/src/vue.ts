import { computed, getCurrentInstance, type InjectionKey, inject, type MaybeRefOrGetter, onMounted, type ShallowRef, shallowRef, toValue, type WritableComputedRef, watch } from "vue";
import { inBrowser } from "./place.js";
import { linkOf, modeOf, noClient, presenceOf, presencesOf, roomOf, type Source, sessionsOf } from "./sources.js";
import type { Link, Mode, OwnSession, Presence, RoomView, View } from "./types.js";

/** Under which a client is provided: `app.provide(PRESENCE, client)`, or `provide(PRESENCE, client)` in a component. */
export const PRESENCE: InjectionKey<Presence> = Symbol("greendot");

/** The client that was provided above. */
export function usePresenceClient<User extends string = string, Note extends string = string>(): Presence<User, Note> {
  const client = inject(PRESENCE, undefined);
  if (client === undefined) throw noClient("Call app.provide(PRESENCE, client) before the app is mounted.");
  return client as unknown as Presence<User, Note>;
}

/** What is known of a user. Watches until its scope (the component, mostly) ends; `user` may be a ref or a getter. */
export function usePresence<User extends string, Note extends string = string>(
  user: MaybeRefOrGetter<User>,
): Readonly<ShallowRef<View<User, Note>>> {
  return useSource(client => presenceOf(client, toValue(user))) as ShallowRef<View<User, Note>>;
}

/** What is known of several users, in the order of their names. */
export function usePresences<User extends string, Note extends string = string>(
  users: MaybeRefOrGetter<readonly User[]>,
): Readonly<ShallowRef<readonly View<User, Note>[]>> {
  return useSource(client => presencesOf(client, toValue(users))) as ShallowRef<readonly View<User, Note>[]>;
}

/** Who is in a room with this user, who is in it until the scope ends. */
export function useRoom<User extends string = string>(id: MaybeRefOrGetter<string>): Readonly<ShallowRef<RoomView<User>>> {
  return useSource(client => roomOf(client, toValue(id))) as ShallowRef<RoomView<User>>;
}

/** The link's status. */
export function useConnection(): Readonly<ShallowRef<Link>> {
  return useSource(linkOf);
}

/** The own user, as only its own pages see it. */
export interface MyPresence<Note extends string = string> {
  /** May be written to: that chooses. */
  readonly mode: WritableComputedRef<Mode>;
  /** Words beside the own dot; empty takes them away. */
  readonly setNote: (note: Note | "") => void;
  /** Its devices and tabs; empty until they are told. */
  readonly sessions: Readonly<ShallowRef<readonly OwnSession[]>>;
  /** Ends another of them. */
  readonly endSession: (id: string) => void;
}

/** The own user's mode and sessions. What the sessions need is loaded with the first such component. */
export function useMyPresence<Note extends string = string>(): MyPresence<Note> {
  const client = usePresenceClient();
  const mode = useSource(modeOf);
  return {
    mode: computed({ get: () => mode.value, set: chosen => client.setMode(chosen) }),
    setNote: note => client.setNote(note),
    sessions: useSource(sessionsOf),
    endSession: id => client.endSession(id),
  };
}

function useSource<T>(make: (client: Presence) => Source<T>): ShallowRef<T> {
  const client = usePresenceClient();
  const source = computed(() => make(client));
  const shown = shallowRef(source.value.server) as ShallowRef<T>;
  const follow = (): void => {
    // At once, so that nothing is ever rendered with the name of one and the state of another.
    watch(
      source,
      ({ now, subscribe }, _, ended) => {
        ended(subscribe(() => (shown.value = now())));
        shown.value = now();
      },
      { immediate: true, flush: "sync" },
    );
  };
  // An element before the first rendering is the server's: the page takes over what the server said, and then goes on.
  if (getCurrentInstance()?.vnode.el) onMounted(follow);
  else if (inBrowser()) follow();
  return shown;
}
