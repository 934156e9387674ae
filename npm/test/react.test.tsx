// @vitest-environment happy-dom
import { act, type ReactNode, StrictMode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  PresenceProvider,
  useConnection,
  useMyMode,
  useMyPresence,
  usePresence,
  usePresenceClient,
  usePresences,
  useRoom,
} from "../src/react.js";
import { fakePresence } from "../src/testing.js";
import type { Presence } from "../src/types.js";
import { open, openLive, settled } from "./fake/client.js";

let place: HTMLElement;
let root: Root;

beforeEach(() => {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  place = document.body.appendChild(document.createElement("div"));
  root = createRoot(place);
});
afterEach(() => {
  act(() => root.unmount());
  place.remove();
});

function render(client: Presence, children: ReactNode): void {
  act(() => root.render(<PresenceProvider client={client}>{children}</PresenceProvider>));
}

/** Lets something happen and React follow it. */
async function after(happens: () => void): Promise<void> {
  await act(async () => {
    happens();
    await settled();
  });
}

const renders = new Map<string, number>();
beforeEach(() => renders.clear());

function Dot({ user }: { user: string }) {
  const { state, stale } = usePresence(user);
  renders.set(user, (renders.get(user) ?? 0) + 1);
  return <i>{`${user} ${state}${stale ? " stale" : ""};`}</i>;
}

describe("usePresence", () => {
  test("shows a user and follows the changes", async () => {
    const { client, engine } = await openLive();
    render(client, <Dot user="ana" />);
    expect(place.textContent).toBe("ana unknown;");
    await after(() => engine.arrive({ ana: "online" }));
    expect(place.textContent).toBe("ana online;");
    await after(() => engine.lose());
    expect(place.textContent).toBe("ana online stale;");
  });

  test("renders the changed row of a thousand, and no other", async () => {
    const { client, engine } = await openLive();
    const users = Array.from({ length: 1_000 }, (_, i) => `user ${i}`);
    render(client, users.map(user => <Dot key={user} user={user} />));
    await after(() => engine.arrive(Object.fromEntries(users.map(user => [user, "offline"] as const))));
    renders.clear();
    await after(() => engine.arrive({ "user 7": "online" }));
    expect([...renders]).toEqual([["user 7", 1]]);
  });

  test("renders once for all that came in one frame", async () => {
    const { client, engine } = await openLive();
    function Pair() {
      renders.set("pair", (renders.get("pair") ?? 0) + 1);
      return <>{usePresence("ana").state + usePresence("bo").state}</>;
    }
    render(client, <Pair />);
    renders.clear();
    await after(() => engine.arrive({ ana: "online", bo: "away" }));
    expect(place.textContent).toBe("onlineaway");
    expect(renders.get("pair")).toBe(1);
  });

  test("watches once for many, and as long as one of them is mounted", async () => {
    const { client, engine } = await openLive();
    render(client, [<Dot key="1" user="ana" />, <Dot key="2" user="ana" />]);
    expect(engine.watched).toEqual(["ana"]);
    render(client, <Dot key="2" user="ana" />);
    expect(engine.watched).toEqual(["ana"]);
    render(client, null);
    expect(engine.watched).toEqual([]);
    expect(engine.parts).toBe(0);
  });

  test("follows when the user changes", async () => {
    const { client, engine } = await openLive();
    engine.arrive({ ana: "online", bo: "away" });
    render(client, <Dot user="ana" />);
    await after(() => render(client, <Dot user="bo" />));
    expect(place.textContent).toBe("bo away;");
  });

  test("survives strict mode's double mount with one watch, without a flicker", async () => {
    const { client, engine } = await openLive();
    const stop = client.watch("ana", () => {});
    engine.arrive({ ana: "online" });
    const shown: string[] = [];
    function Logged() {
      const { state } = usePresence("ana");
      shown.push(state);
      return <>{state}</>;
    }
    render(client, <StrictMode><Logged /></StrictMode>);
    await after(stop);
    expect(new Set(shown)).toEqual(new Set(["online"]));
    expect(engine.watched).toEqual(["ana"]);
    expect(engine.parts).toBe(1);
    act(() => root.render(null));
    expect(engine.parts).toBe(0);
  });

  test("keeps a row alive beside one that throws", async () => {
    const { client, engine } = await openLive();
    vi.spyOn(console, "error").mockImplementation(() => {});
    client.subscribe("ana", () => {
      throw new Error("the app's own");
    });
    render(client, <Dot user="ana" />);
    await after(() => engine.arrive({ ana: "online" }));
    expect(place.textContent).toBe("ana online;");
  });

  test("without a provider says what is missing", () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const fault = expect.objectContaining({ code: "bad_call", next: "Put <PresenceProvider client={…}> above it." });
    expect(() => act(() => root.render(<Dot user="ana" />))).toThrow(fault);
  });
});

describe("usePresences", () => {
  function Team({ users }: { users: readonly string[] }) {
    renders.set("team", (renders.get("team") ?? 0) + 1);
    return <p>{usePresences(users).map(it => it.state).join(" ")}</p>;
  }

  test("shows several in their order, and renders once for all that came together", async () => {
    const client = fakePresence({ ana: "online", bo: "away" });
    render(client, <Team users={["bo", "ana"]} />);
    expect(place.textContent).toBe("away online");
    renders.clear();
    await after(() => client.set({ ana: "dnd", bo: "busy" }));
    expect(place.textContent).toBe("busy dnd");
    expect(renders.get("team")).toBe(1);
  });

  test("an array that is made anew with each rendering is no other list", async () => {
    const { client, engine } = await openLive();
    render(client, <Team users={["ana", "bo"]} />);
    const before = engine.calls.length;
    render(client, <Team users={["ana", "bo"]} />);
    expect(engine.calls).toHaveLength(before);
    render(client, <Team users={["bo"]} />);
    expect(engine.watched).toEqual(["bo"]);
    expect(engine.parts).toBe(1);
  });

  test("of a thousand, one change is one rendering", async () => {
    const users = Array.from({ length: 1_000 }, (_, at) => `user ${at}`);
    const client = fakePresence(Object.fromEntries(users.map(user => [user, "offline"] as const)));
    render(client, <Team users={users} />);
    await after(() => {});
    renders.clear();
    await after(() => client.set("user 7", "online"));
    expect(renders.get("team")).toBe(1);
    await after(() => client.set("user 7", "online"));
    expect(renders.get("team")).toBe(1);
  });
});

describe("the other hooks", () => {
  test("useConnection follows the link", async () => {
    function Line() {
      const { state, why } = useConnection();
      return <>{`${state} ${why ?? ""}`}</>;
    }
    const { client, engine } = await openLive({ session: "kitchen-screen" });
    render(client, <Line />);
    expect(place.textContent).toBe("live ");
    await after(() => engine.stop(4409));
    expect(place.textContent).toBe("stopped replaced");
  });

  test("useMyMode reads and chooses", async () => {
    function Choice() {
      const [mode, setMode] = useMyMode();
      return <button onClick={() => setMode("dnd")}>{mode}</button>;
    }
    const { client, engine } = await openLive();
    render(client, <Choice />);
    await after(() => place.querySelector("button")?.click());
    expect(place.textContent).toBe("dnd");
    await after(() => engine.mode("auto"));
    expect(place.textContent).toBe("auto");
  });

  test("useMyPresence gives the own sessions, mode and note", async () => {
    const client = fakePresence();
    function Mine() {
      const { mode, setMode, setNote, sessions, endSession } = useMyPresence();
      const all = () => {
        setMode("busy");
        setNote("in a call");
        endSession("s2");
      };
      return <button onClick={all}>{`${mode} ${sessions.map(it => it.id).join(" ")}`}</button>;
    }
    render(client, <Mine />);
    const session = { idle: false, lingering: false, passive: false, since: new Date() };
    await after(() => client.setSessions([{ ...session, id: "s1", here: true }, { ...session, id: "s2", here: false }]));
    expect(place.textContent).toBe("auto s1 s2");
    await after(() => place.querySelector("button")?.click());
    expect(place.textContent).toBe("busy s1 s2");
    expect([client.note, client.ended]).toEqual(["in a call", ["s2"]]);
  });

  test("usePresenceClient gives the client itself", () => {
    const client = open();
    let given: Presence | undefined;
    function Ask() {
      given = usePresenceClient();
      return null;
    }
    render(client, <Ask />);
    expect(given).toBe(client);
  });

  test("the provider neither opens nor closes the client", async () => {
    const { client } = await openLive();
    render(client, null);
    act(() => root.render(null));
    expect(client.link.state).toBe("live");
  });
});

describe("useRoom", () => {
  function Viewers({ id }: { id: string }) {
    const { members, count, known } = useRoom(id);
    return <p>{known ? `${members.map(({ user }) => user).join(" and ")}: ${count}` : "nobody knows"}</p>;
  }

  test("is in the room while mounted, and shows who else is", async () => {
    const { client, engine } = await openLive();
    render(client, <Viewers id="page" />);
    expect(place.textContent).toBe("nobody knows");
    await act(async () => void (await vi.waitUntil(() => engine.calls.includes("join page"))));
    await after(() => engine.gather("page", { ana: "online", bo: "away" }));
    expect(place.textContent).toBe("ana and bo: 2");
    await after(() => engine.gather("page", { bo: "away" }));
    expect(place.textContent).toBe("bo: 1");
    render(client, <Viewers id="other" />);
    render(client, null);
    const rooms = engine.calls.filter(call => /^(join|leave)/.test(call));
    expect(rooms.slice(0, 1)).toEqual(["join page"]);
    expect(rooms.filter(call => call.startsWith("join"))).toHaveLength(2);
    expect(rooms.filter(call => call.startsWith("leave"))).toHaveLength(2);
  });
});
