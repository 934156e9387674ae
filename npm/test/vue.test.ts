// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type App, createApp, createSSRApp, defineComponent, effectScope, h, nextTick, ref, type VNode } from "vue";
import { fakePresence } from "../src/testing.js";
import type { Presence } from "../src/types.js";
import { PRESENCE, useConnection, useMyPresence, usePresence, usePresenceClient, usePresences, useRoom } from "../src/vue.js";

let place: HTMLElement;
const apps: App[] = [];
const renders = new Map<string, number>();

beforeEach(() => {
  renders.clear();
  place = document.body.appendChild(document.createElement("div"));
});
afterEach(() => {
  for (const app of apps.splice(0)) app.unmount();
  place.remove();
});

function mount(client: Presence, render: () => VNode | VNode[]): App {
  const app = createApp({ render }).provide(PRESENCE, client);
  apps.push(app);
  app.mount(place);
  return app;
}

const Dot = defineComponent({
  props: { user: { type: String, required: true } },
  setup(props) {
    const view = usePresence(() => props.user);
    return () => {
      renders.set(props.user, (renders.get(props.user) ?? 0) + 1);
      return h("i", `${view.value.user} ${view.value.state};`);
    };
  },
});

/** What was said is told in a microtask, and rendered in the next. */
async function after(happens: () => void): Promise<void> {
  happens();
  await nextTick();
  await nextTick();
}

describe("usePresence", () => {
  test("shows a user and follows the changes", async () => {
    const client = fakePresence({ ana: "online" });
    mount(client, () => h(Dot, { user: "ana" }));
    expect(place.textContent).toBe("ana online;");
    await after(() => client.set("ana", "away"));
    expect(place.textContent).toBe("ana away;");
  });

  test("renders the changed row of a thousand, and no other", async () => {
    const users = Array.from({ length: 1_000 }, (_, at) => `user ${at}`);
    const client = fakePresence(Object.fromEntries(users.map(user => [user, "offline"] as const)));
    mount(client, () => users.map(user => h(Dot, { user, key: user })));
    expect(renders.size).toBe(1_000);
    renders.clear();
    await after(() => client.set("user 7", "online"));
    expect([...renders]).toEqual([["user 7", 1]]);
  });

  test("watches once for many, until the last of their scopes has ended", async () => {
    const client = fakePresence();
    const count = ref(2);
    mount(client, () => Array.from({ length: count.value }, (_, key) => h(Dot, { user: "ana", key })));
    expect(client.watched).toEqual(["ana"]);
    await after(() => count.value--);
    expect(client.watched).toEqual(["ana"]);
    await after(() => count.value--);
    expect(client.watched).toEqual([]);
  });

  test("follows when the user is another, never with one's name and the other's state", async () => {
    const client = fakePresence({ ana: "online", bo: "away" });
    const user = ref("ana");
    const shown: string[] = [];
    mount(client, () => h(Dot, { user: user.value }));
    const observer = new MutationObserver(() => shown.push(place.textContent ?? ""));
    observer.observe(place, { subtree: true, characterData: true, childList: true });
    await after(() => (user.value = "bo"));
    observer.disconnect();
    expect(place.textContent).toBe("bo away;");
    expect(shown.every(it => it === "bo away;")).toBe(true);
    expect(client.watched).toEqual(["bo"]);
  });

  test("works in a scope without a component", () => {
    const client = fakePresence({ ana: "online" });
    const app = createApp({}).provide(PRESENCE, client);
    const scope = effectScope();
    const view = app.runWithContext(() => scope.run(() => usePresence("ana")));
    expect(view?.value.state).toBe("online");
    scope.stop();
    expect(client.watched).toEqual([]);
  });

  test("without a client says what is missing", () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    expect(() => createApp(Dot, { user: "ana" }).mount(place)).toThrow(/app\.provide\(PRESENCE, client\)/);
  });

  test("a page takes over what the server said, and then goes on", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    place.innerHTML = "<i>ana unknown;</i>";
    const client = fakePresence({ ana: "online" });
    const app = createSSRApp({ render: () => h(Dot, { user: "ana" }) }).provide(PRESENCE, client);
    apps.push(app);
    app.mount(place);
    await after(() => {});
    expect(place.innerHTML).toBe("<i>ana online;</i>");
    expect(warn).not.toHaveBeenCalled();
  });
});

test("the others follow the link, rooms, several users and the own choices", async () => {
  const client = fakePresence({ ana: "online", bo: "away" });
  client.setRoom("page", { ana: "online" });
  const All = defineComponent(() => {
    const [link, room, rows, mine] = [useConnection(), useRoom("page"), usePresences(["ana", "bo"]), useMyPresence()];
    expect(usePresenceClient()).toBe(client);
    return () =>
      h("button", { onClick: () => (mine.mode.value = "dnd") }, [
        [link.value.state, room.value.count, rows.value.map(it => it.state).join(" "), mine.mode.value, mine.sessions.value.length].join(", "),
      ]);
  });
  mount(client, () => h(All));
  expect(place.textContent).toBe("live, 1, online away, auto, 0");
  await after(() => {
    place.querySelector("button")?.click();
    client.setLink({ state: "waiting" });
    client.set("bo", "busy");
    client.setRoom("page", { ana: "online", bo: "busy" });
  });
  expect(place.textContent).toBe("waiting, 2, online busy, dnd, 0");
});
