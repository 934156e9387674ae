// What a page of the tests of `<green-dot>` and of the devtools panel runs.
import { connect } from "greendot";
import { openDevtools } from "greendot/devtools";
import { defineGreenDot } from "greendot/element";

const presence = connect({ url: "/presence", token: () => new URLSearchParams(location.search).get("user") ?? "ana" });
defineGreenDot(presence);
globalThis.presence = presence;

/** A list of so many dots, in a scroller of its own or in the page itself. */
globalThis.list = (count, style = "") => {
  const list = document.createElement("div");
  list.id = "list";
  list.style = style;
  for (let at = 0; at < count; at++) {
    const row = list.appendChild(document.createElement("p"));
    row.style = "margin: 0; height: 40px";
    row.append(Object.assign(document.createElement("green-dot"), { user: `user${at}` }), ` user${at}`);
  }
  document.body.append(list);
};
/** One dot, and nothing else. */
globalThis.dot = attributes => {
  const dot = document.createElement("green-dot");
  for (const [name, value] of Object.entries(attributes)) dot.setAttribute(name, value);
  document.body.replaceChildren(dot);
};
globalThis.openDevtools = () => (globalThis.closeDevtools = openDevtools(presence));
globalThis.ready = true;
