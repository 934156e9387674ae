import { createContext, createElement, type ReactElement, type ReactNode, useCallback, useContext, useMemo, useSyncExternalStore } from "react";
import { linkOf, modeOf, noClient, presenceOf, presencesOf, roomOf, type Source, sessionsOf } from "./sources.js";
import type { Link, Mode, OwnSession, Presence, RoomView, View } from "./types.js";

const Context = createContext<Presence | undefined>(undefined);

/** Gives a client to all that is below. The client is the app's: it is neither opened nor closed here. */
export function PresenceProvider<User extends string, Note extends string>(props: {
  client: Presence<User, Note>;
  children?: ReactNode;
}): ReactElement {
  return createElement(Context.Provider, { value: props.client as unknown as Presence }, props.children);
}

/** The client of the provider above. */
export function usePresenceClient<User extends string = string, Note extends string = string>(): Presence<User, Note> {
  const client = useContext(Context);
  if (client === undefined) throw noClient("Put <PresenceProvider client={…}> above it.");
  return client as unknown as Presence<User, Note>;
}

/** What is known of a user. Watches while mounted, and renders again only when something about this user changes. */
export function usePresence<User extends string, Note extends string = string>(user: User): View<User, Note> {
  return useSource<View, string>(presenceOf, user) as View<User, Note>;
}

/**
 * What is known of several users, in the order of their names; the same array for as long as nothing changes. One that
 * renders anew with each of them: a list is better off with `usePresence` in each of its rows.
 */
export function usePresences<User extends string, Note extends string = string>(
  users: readonly User[],
): readonly View<User, Note>[] {
  // An array that was made while rendering is another one each time.
  return useSource<readonly View[], readonly string[]>(presencesOf, users, JSON.stringify(users)) as readonly View<User, Note>[];
}

/** Who is in a room with this user. In the room while mounted; `members` and `count` are what this user may see. */
export function useRoom<User extends string = string>(id: string): RoomView<User> {
  return useSource(roomOf, id) as RoomView<User>;
}

/** The link's status. */
export function useConnection(): Link {
  return useSource(linkOf, "");
}

/** The own user's mode, and how to choose another. */
export function useMyMode(): [Mode, (mode: Mode) => void] {
  const client = usePresenceClient();
  return [useSource(modeOf, ""), useCallback(mode => client.setMode(mode), [client])];
}

/** The own user, as only its own pages see it. */
export interface MyPresence<Note extends string = string> {
  readonly mode: Mode;
  /** Chooses another mode. */
  readonly setMode: (mode: Mode) => void;
  /** Words beside the own dot; empty takes them away. */
  readonly setNote: (note: Note | "") => void;
  /** Its devices and tabs; empty until they are told. */
  readonly sessions: readonly OwnSession[];
  /** Ends another of them. */
  readonly endSession: (id: string) => void;
}

/** The own user's mode and sessions. What the sessions need is loaded with the first such component. */
export function useMyPresence<Note extends string = string>(): MyPresence<Note> {
  const client = usePresenceClient();
  const [mode, setMode] = useMyMode();
  const sessions = useSource(sessionsOf, "");
  return useMemo(
    () => ({ mode, setMode, sessions, setNote: note => client.setNote(note), endSession: id => client.endSession(id) }),
    [client, mode, setMode, sessions],
  );
}

/** Shows a source; another one when its client or its `key` is another. */
function useSource<T, Of>(make: (client: Presence, of: Of) => Source<T>, of: Of, key: unknown = of): T {
  const client = usePresenceClient();
  const source = useMemo(() => make(client, of), [client, key]);
  return useSyncExternalStore(source.subscribe, source.now, () => source.server);
}
