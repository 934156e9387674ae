import { connect } from "greendot";
import wasm from "greendot/client_bg.wasm";

const page = new URLSearchParams(location.search);
const presence = connect({
  url: page.get("server"),
  token: () => page.get("user"),
  wasm: new URL(wasm, import.meta.url),
});

const list = document.getElementById("app");
presence.watch(["ana", "bo"], changes => {
  for (const { user, state } of changes) {
    const row = list.querySelector(`[data-user="${user}"]`) ?? list.appendChild(document.createElement("p"));
    Object.assign(row.dataset, { user, state });
    row.textContent = `${user} is ${state}`;
  }
});
