import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";
import { connect } from "../src/index.node.js";
import { PresenceProvider, useConnection, useMyMode, usePresence, usePresences, useRoom } from "../src/react.js";

test("a server renders everybody as unknown, and the page takes that over", () => {
  function Row() {
    const { state, stale } = usePresence("ana");
    return <p>{[state, String(stale), useConnection().state, useMyMode()[0], useRoom("page").count, usePresences(["bo"])[0]?.state].join(" ")}</p>;
  }
  const client = connect({ url: "/presence", token: () => "token" });
  const html = renderToString(<PresenceProvider client={client}><Row /></PresenceProvider>);
  expect(html).toBe("<p>unknown true closed auto 0 unknown</p>");
});
