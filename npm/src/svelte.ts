import { getContext, setContext } from "svelte";
import * as sources from "./sources.js";
import type { Link, Mode, OwnSession, Presence, RoomView, View } from "./types.js";

const KEY = Symbol.for("greendot");

/** Gives a client to all components below; to be called while a component is made. */
export function setPresence<User extends string, Note extends string>(client: Presence<User, Note>): Presence<User, Note> {
  return setContext(KEY, client);
}

/** The client that was set above; to be called while a component is made. */
export function getPresence<User extends string = string, Note extends string = string>(): Presence<User, Note> {
  const client = getContext<Presence<User, Note> | undefined>(KEY);
  if (client === undefined) throw sources.noClient("Call setPresence(client) in a component above it.");
  return client;
}

/** A store that can be read: what Svelte's `$` takes. It watches while anybody is subscribed. */
export interface Readable<T> {
  /** Tells what is, and then each change; what it returns ends that. */
  subscribe(run: (value: T) => void): () => void;
}

/** One that can be written to, as `bind:value={$mode}` does. */
export interface Writable<T> extends Readable<T> {
  /** Writes. */
  set(value: T): void;
  /** Writes what comes of the value now. */
  update(change: (value: T) => T): void;
}

/** What is known of a user. */
export function presenceOf<User extends string, Note extends string>(
  client: Presence<User, Note>,
  user: User,
): Readable<View<User, Note>> {
  return store(sources.presenceOf(client, user));
}

/** What is known of several users, in the order of their names. */
export function presencesOf<User extends string, Note extends string>(
  client: Presence<User, Note>,
  users: readonly User[],
): Readable<readonly View<User, Note>[]> {
  return store(sources.presencesOf(client, users));
}

/** Who is in a room with this user, who is in it while anybody is subscribed. */
export function roomOf<User extends string>(client: Presence<User>, id: string): Readable<RoomView<User>> {
  return store(sources.roomOf(client, id));
}

/** The link's status. */
export function connectionOf(client: Presence): Readable<Link> {
  return store(sources.linkOf(client));
}

/** The own user's mode; to set it is to choose. */
export function modeOf(client: Presence): Writable<Mode> {
  const set = (mode: Mode): void => client.setMode(mode);
  return { ...store(sources.modeOf(client)), set, update: change => set(change(client.mode)) };
}

/** The own user's devices and tabs. What they need is loaded with the first subscriber. */
export function sessionsOf(client: Presence): Readable<readonly OwnSession[]> {
  return store(sources.sessionsOf(client));
}

function store<T>({ now, subscribe }: sources.Source<T>): Readable<T> {
  return {
    subscribe(run) {
      // Whom nobody watches is unknown: so this comes first. It is never told inside this call.
      const stop = subscribe(() => {
        if (told !== now()) run((told = now()));
      });
      let told = now();
      run(told);
      return stop;
    },
  };
}
