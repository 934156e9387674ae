// @vitest-environment happy-dom
import { type Component, flushSync, mount, unmount } from "svelte";
import { get } from "svelte/store";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectionOf, modeOf, presenceOf, presencesOf, roomOf, sessionsOf } from "../src/svelte.js";
import { fakePresence } from "../src/testing.js";
import { settled } from "./fake/client.js";
import StoreRow from "./svelte/contact.svelte";
import Contacts from "./svelte/contacts.svelte";
import Mine from "./svelte/mine.svelte";
import RunesRow from "./svelte/runes.svelte";

let place: HTMLElement;
const mounted: object[] = [];

beforeEach(() => {
  place = document.body.appendChild(document.createElement("div"));
});
afterEach(async () => {
  for (const it of mounted.splice(0)) await unmount(it);
  place.remove();
});

function show(props: Record<string, unknown>, component: Component<Record<string, unknown>> = Contacts): object {
  const made = mount(component, { target: place, props });
  mounted.push(made);
  flushSync();
  return made;
}

async function after(happens: () => void): Promise<void> {
  happens();
  await settled();
  flushSync();
}

const text = (): string => Array.from(place.querySelectorAll("p, button"), it => it.textContent).join(" ");

describe.each([["stores", StoreRow], ["runes", RunesRow]])("by %s, a component", (_, Row) => {
  test("shows users and follows the changes", async () => {
    const client = fakePresence({ ana: "online", bo: "away" });
    show({ client, users: ["ana", "bo"], Row });
    expect(text()).toBe("ana online bo away");
    await after(() => client.set("ana", "dnd"));
    expect(text()).toBe("ana dnd bo away");
  });

  test("touches the changed row of a thousand, and no other", async () => {
    const users = Array.from({ length: 1_000 }, (_, at) => `user ${at}`);
    const client = fakePresence(Object.fromEntries(users.map(user => [user, "offline"] as const)));
    show({ client, users, Row });
    await settled();
    const touched: string[] = [];
    const observer = new MutationObserver(list => touched.push(...list.map(it => it.target.textContent ?? "")));
    observer.observe(place, { subtree: true, characterData: true, childList: true });
    await after(() => client.set("user 7", "online"));
    observer.disconnect();
    expect(touched).toEqual(["user 7 online"]);
  });

  test("stops watching when it goes", async () => {
    const client = fakePresence({ ana: "online" });
    const made = show({ client, users: ["ana", "ana"], Row });
    expect(client.watched).toEqual(["ana"]);
    await unmount(made);
    mounted.length = 0;
    await settled();
    expect(client.watched).toEqual([]);
  });
});

test("runes follow when the user is another, and the own choices", async () => {
  const client = fakePresence({ ana: "online", bo: "away" });
  client.setRoom("page", { ana: "online" });
  const users = ["ana"];
  show({ client, users: [{ users, room: "page" }], Row: Wrapped });
  expect(text()).toBe("online, live, auto, 0, 1 Do not disturb");
  await after(() => {
    place.querySelector("button")?.click();
    client.setLink({ state: "waiting" });
    client.set("ana", "busy");
    client.setSessions([{ id: "s1", idle: false, lingering: false, passive: false, here: true, since: new Date() }]);
  });
  expect(text()).toBe("busy, waiting, dnd, 1, 1 Do not disturb");
});

/** The list hands each row its user: here, all that the row is to show. */
function Wrapped(anchor: unknown, props: { user: Record<string, unknown> }): unknown {
  return (Mine as unknown as (anchor: unknown, props: object) => unknown)(anchor, props.user);
}

test("stores tell what is, and then each change once", async () => {
  const client = fakePresence({ ana: "online", bo: "away" });
  client.setRoom("page", { ana: "online" });
  expect(get(presenceOf(client, "ana")).state).toBe("online");
  expect(get(presencesOf(client, ["ana", "bo"])).map(it => it.state)).toEqual(["online", "away"]);
  expect(get(roomOf(client, "page")).count).toBe(1);
  expect(get(connectionOf(client)).state).toBe("live");
  expect(get(sessionsOf(client))).toEqual([]);
  const mode = modeOf(client);
  const modes: string[] = [];
  const stop = mode.subscribe(it => modes.push(it));
  mode.set("dnd");
  mode.update(it => (it === "dnd" ? "away" : it));
  await settled();
  expect(modes).toEqual(["auto", "away"]);
  stop();
  const told: string[] = [];
  const end = presenceOf(client, "ana").subscribe(it => told.push(it.state));
  await settled();
  client.set("ana", "online");
  await settled();
  client.set("ana", "away");
  await settled();
  expect(told).toEqual(["online", "away"]);
  end();
  expect(client.watched).toEqual([]);
});
