import { connect } from "greendot";

const page = new URLSearchParams(location.search);
const presence = connect({ url: page.get("server"), token: () => page.get("user") });

const list = document.getElementById("app");
presence.watch(["ana", "bo"], changes => {
  for (const { user, state } of changes) {
    const row = list.querySelector(`[data-user="${user}"]`) ?? list.appendChild(document.createElement("p"));
    Object.assign(row.dataset, { user, state });
    row.textContent = `${user} is ${state}`;
  }
});
