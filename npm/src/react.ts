import { createContext, createElement, type ReactElement, type ReactNode, useCallback, useContext, useMemo, useSyncExternalStore } from "react";
import type { Link, Mode, OwnSession, Presence, RoomView, UnknownView, View } from "./types.js";

const Context = createContext<Presence | undefined>(undefined);

/** Gives a client to all that is below. The client is the app's: it is neither opened nor closed here. */
export function PresenceProvider(props: { client: Presence; children?: ReactNode }): ReactElement {
  return createElement(Context.Provider, { value: props.client }, props.children);
}

/** The client of the provider above. */
export function usePresenceClient(): Presence {
  const client = useContext(Context);
  if (client === undefined) {
    throw new Error("greendot: there is no client here. Put <PresenceProvider client={…}> above this component.");
  }
  return client;
}

/** What is known of a user. Watches while mounted, and renders again only when something about this user changes. */
export function usePresence(user: string): View {
  const client = usePresenceClient();
  const subscribe = useCallback((changed: () => void) => client.subscribe(user, changed), [client, user]);
  const unknown = useMemo((): UnknownView => Object.freeze({ user, state: "unknown", stale: true }), [user]);
  return useSyncExternalStore(
    subscribe,
    () => client.get(user),
    () => unknown,
  );
}

/** Who is in a room with this user. In the room while mounted; `members` and `count` are what this user may see. */
export function useRoom(id: string): RoomView {
  const room = usePresenceClient().room(id);
  const subscribe = useCallback((changed: () => void) => room.subscribe(changed), [room]);
  const nobody = useMemo(
    (): RoomView =>
      Object.freeze({ room: id, members: Object.freeze([]), count: 0, whole: false, known: false, stale: true }),
    [id],
  );
  return useSyncExternalStore(
    subscribe,
    () => room.view,
    () => nobody,
  );
}

/** The link's status. */
export function useConnection(): Link {
  const client = usePresenceClient();
  const subscribe = useCallback((changed: () => void) => client.onLink(changed), [client]);
  return useSyncExternalStore(
    subscribe,
    () => client.link,
    () => SERVER_LINK,
  );
}

/** The own user's mode, and how to choose another. */
export function useMyMode(): [Mode, (mode: Mode) => void] {
  const client = usePresenceClient();
  const subscribe = useCallback((changed: () => void) => client.onMode(changed), [client]);
  const mode = useSyncExternalStore(
    subscribe,
    () => client.mode,
    (): Mode => "auto",
  );
  const setMode = useCallback((chosen: Mode) => client.setMode(chosen), [client]);
  return [mode, setMode];
}

/** The own user, as only its own pages see it. */
export interface MyPresence {
  readonly mode: Mode;
  readonly setMode: (mode: Mode) => void;
  /** Its devices and tabs; empty until they are told. */
  readonly sessions: readonly OwnSession[];
  /** Ends another of them. */
  readonly endSession: (id: string) => void;
}

/** The own user's mode and sessions. What the sessions need is loaded with the first such component. */
export function useMyPresence(): MyPresence {
  const client = usePresenceClient();
  const [mode, setMode] = useMyMode();
  const subscribe = useCallback((changed: () => void) => client.onSessions(changed), [client]);
  const sessions = useSyncExternalStore(
    subscribe,
    () => client.sessions,
    () => NO_SESSIONS,
  );
  const endSession = useCallback((id: string) => client.endSession(id), [client]);
  return useMemo(() => ({ mode, setMode, sessions, endSession }), [mode, setMode, sessions, endSession]);
}

const NO_SESSIONS: readonly OwnSession[] = Object.freeze([]);

/** What a server renders, and a page while it takes that over. */
const SERVER_LINK: Link = Object.freeze({ state: "closed", stale: true });
