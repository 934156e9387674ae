const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
worker.postMessage(Object.fromEntries(new URLSearchParams(location.search)));

const list = document.getElementById("app");
worker.onmessage = ({ data: { user, state } }) => {
  const row = list.querySelector(`[data-user="${user}"]`) ?? list.appendChild(document.createElement("p"));
  Object.assign(row.dataset, { user, state });
  row.textContent = `${user} is ${state}`;
};
