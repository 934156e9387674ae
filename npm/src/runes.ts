// For Svelte 5's runes: `ana.current` is read where it is shown, and what reads it follows. Watches while an effect reads it.

import { createSubscriber } from "svelte/reactivity";
import { linkOf, modeOf, presenceOf, presencesOf, roomOf, type Source, sessionsOf } from "./sources.js";
import { getPresence } from "./svelte.js";
import type { Link, Mode, OwnSession, Presence, RoomView, View } from "./types.js";

/** Something that changes: reading `current` in a template, an effect or a `$derived` follows it. */
export interface Current<T> {
  readonly current: T;
}

/** What is known of a user; a function, so that it may be another one later: `usePresence(() => user)`. */
export function usePresence<User extends string, Note extends string = string>(user: () => User): Current<View<User, Note>> {
  const client = getPresence<User, Note>();
  return follow(user, () => presenceOf(client, user()));
}

/** What is known of several users, in the order of their names. */
export function usePresences<User extends string, Note extends string = string>(
  users: () => readonly User[],
): Current<readonly View<User, Note>[]> {
  const client = getPresence<User, Note>();
  return follow(() => JSON.stringify(users()), () => presencesOf(client, users()));
}

/** Who is in a room with this user, who is in it while anything on the page follows it. */
export function useRoom<User extends string = string>(id: () => string): Current<RoomView<User>> {
  const client: Presence<User> = getPresence();
  return follow(id, () => roomOf(client, id()));
}

/** The link's status. */
export function useConnection(): Current<Link> {
  const client = getPresence();
  return follow(() => "", () => linkOf(client));
}

/** The own user, as only its own pages see it. */
export interface MyPresence<Note extends string = string> {
  /** May be written to: that chooses. */
  mode: Mode;
  /** Its devices and tabs; empty until they are told. */
  readonly sessions: readonly OwnSession[];
  /** Words beside the own dot; empty takes them away. */
  setNote(note: Note | ""): void;
  /** Ends another of the sessions. */
  endSession(id: string): void;
}

/** The own user's mode and sessions. What the sessions need is loaded when something on the page reads them. */
export function useMyPresence<Note extends string = string>(): MyPresence<Note> {
  const client = getPresence();
  const mode = follow(() => "", () => modeOf(client));
  const sessions = follow(() => "", () => sessionsOf(client));
  return {
    get mode() {
      return mode.current;
    },
    set mode(chosen) {
      client.setMode(chosen);
    },
    get sessions() {
      return sessions.current;
    },
    setNote: note => client.setNote(note),
    endSession: id => client.endSession(id),
  };
}

/** Another source when the key is another. */
function follow<T>(key: () => string, make: () => Source<T>): Current<T> {
  let last: { key: string; source: Source<T>; read: () => void } | undefined;
  return {
    get current() {
      const now = key();
      if (last?.key !== now) {
        const source = make();
        last = { key: now, source, read: createSubscriber(source.subscribe) };
      }
      last.read();
      return last.source.now();
    },
  };
}
