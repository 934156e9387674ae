import { render } from "svelte/server";
import { expect, test } from "vitest";
import { fakePresence } from "../src/testing.js";
import StoreRow from "./svelte/contact.svelte";
import Contacts from "./svelte/contacts.svelte";
import RunesRow from "./svelte/runes.svelte";

test("a server renders what its closed client knows, and watches nobody afterwards", () => {
  for (const [Row, shown] of [[StoreRow, "ana online"], [RunesRow, "ana unknown"]] as const) {
    const client = fakePresence({ ana: "online" });
    const { body } = render(Contacts, { props: { client, users: ["ana"], Row } });
    expect(body).toContain(`<p>${shown}</p>`);
    expect(client.watched).toEqual([]);
  }
});
