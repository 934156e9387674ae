import { expect, test } from "vitest";
import { createSSRApp, defineComponent, h } from "vue";
import { renderToString } from "vue/server-renderer";
import { fakePresence } from "../src/testing.js";
import { PRESENCE, useConnection, useMyPresence, usePresence, useRoom } from "../src/vue.js";

test("a server renders everybody as unknown, and watches nobody", async () => {
  const client = fakePresence({ ana: "online" });
  const Row = defineComponent(() => {
    const [view, link, mine, room] = [usePresence("ana"), useConnection(), useMyPresence(), useRoom("page")];
    return () => h("p", [view.value.state, view.value.stale, link.value.state, mine.mode.value, room.value.count].join(" "));
  });
  const html = await renderToString(createSSRApp(Row).provide(PRESENCE, client));
  expect(html).toBe("<p>unknown true closed auto 0</p>");
  expect(client.watched).toEqual([]);
  expect(client.joined).toEqual([]);
});
