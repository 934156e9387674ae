import type { Link, Mode, OwnSession, Presence, RoomView, Stop, UnknownView, View } from "./types.js";

/** One thing that a page shows, in the form that every framework's binding takes. */
export interface Source<T> {
  /** How it is now: the same object for as long as nothing in it has changed. */
  readonly now: () => T;
  /** Watches. `changed` is called when `now()` may return something new, once for all that came together. */
  readonly subscribe: (changed: () => void) => Stop;
  /** What a server renders, and a page while it takes that over. */
  readonly server: T;
}

/** One user. */
export function presenceOf<User extends string, Note extends string>(
  client: Presence<User, Note>,
  user: User,
): Source<View<User, Note>> {
  return {
    now: () => client.get(user),
    subscribe: changed => client.subscribe(user, changed),
    server: unknown(user),
  };
}

/** Several users, in the order of their names. */
export function presencesOf<User extends string, Note extends string>(
  client: Presence<User, Note>,
  users: readonly User[],
): Source<readonly View<User, Note>[]> {
  let views: readonly View<User, Note>[] = [];
  return {
    now() {
      const fresh = users.map(user => client.get(user));
      if (fresh.length !== views.length || fresh.some((view, at) => view !== views[at])) views = Object.freeze(fresh);
      return views;
    },
    subscribe: changed => client.subscribe(users, changed),
    server: users.map(unknown),
  };
}

/** Who is in a room. The own user is in it while anybody listens. */
export function roomOf<User extends string>(client: Presence<User>, id: string): Source<RoomView<User>> {
  const room = client.room(id);
  return {
    now: () => room.view,
    subscribe: changed => room.subscribe(changed),
    server: unknownRoom(id),
  };
}

/** The link's status. */
export function linkOf(client: Presence): Source<Link> {
  return { now: () => client.link, subscribe: changed => client.onLink(changed), server: CLOSED };
}

/** The own user's mode. */
export function modeOf(client: Presence): Source<Mode> {
  return { now: () => client.mode, subscribe: changed => client.onMode(changed), server: "auto" };
}

/** The own user's devices and tabs. */
export function sessionsOf(client: Presence): Source<readonly OwnSession[]> {
  return { now: () => client.sessions, subscribe: changed => client.onSessions(changed), server: NO_SESSIONS };
}

/** No sessions that are known. */
export const NO_SESSIONS: readonly OwnSession[] = /* @__PURE__ */ Object.freeze([]);

/** A link that was never opened. */
export const CLOSED: Link = /* @__PURE__ */ Object.freeze({ state: "closed", stale: true });

/** What a binding throws where no client was given. As a `GreendotError`, but for its class: a binding is to stay small. */
export function noClient(next: string): Error {
  const code = "bad_call";
  const culprit = "the place of this component";
  return Object.assign(new Error(`greendot: there is no client here (${code}; ${culprit}). ${next}`), { code, culprit, next });
}

/** A room of which nothing is known. */
export function unknownRoom<User extends string>(room: string): RoomView<User> {
  return Object.freeze({ room, members: Object.freeze([]), count: 0, whole: false, known: false, stale: true });
}

const unknown = <User extends string>(user: User): UnknownView<User> =>
  Object.freeze({ user, state: "unknown", stale: true });
