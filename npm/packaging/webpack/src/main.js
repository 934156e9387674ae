import { connect } from "greendot";
import { PresenceProvider, usePresences } from "greendot/react";
import { createElement as h, StrictMode } from "react";
import { createRoot } from "react-dom/client";

const page = new URLSearchParams(location.search);
const presence = connect({ url: page.get("server"), token: () => page.get("user") });

function Contacts() {
  const rows = usePresences(["ana", "bo"]);
  return h("ul", null, rows.map(({ user, state }) => h("li", { key: user, "data-user": user, "data-state": state }, `${user} is ${state}`)));
}

createRoot(document.getElementById("app")).render(
  h(StrictMode, null, h(PresenceProvider, { client: presence }, h(Contacts))),
);
