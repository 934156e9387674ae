// What a page of the leak test runs: an app that mounts and unmounts, connects and closes, and whose link breaks.
import { createElement } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { connect } from "greendot";
import { PresenceProvider, useConnection, usePresence } from "greendot/react";

const options = { url: "/presence", token: () => "ana" };

function Dot({ user }) {
  return createElement("i", { title: usePresence(user).state }, useConnection().state);
}

const live = client =>
  new Promise(done => {
    if (client.link.state === "live") return done();
    const stop = client.onLink(link => {
      if (link.state !== "live") return;
      stop();
      done();
    });
  });

let client;

/** Each a round of something that an app does over and over. */
globalThis.rounds = {
  async mount() {
    client ??= connect(options);
    await live(client);
    const place = document.body.appendChild(document.createElement("div"));
    const root = createRoot(place);
    const dots = ["bo", "cy", "dee", "eli"].map(user => createElement(Dot, { key: user, user }));
    flushSync(() => root.render(createElement(PresenceProvider, { client }, dots)));
    flushSync(() => root.unmount());
    place.remove();
  },
  /** A client of its own each time, closed and forgotten. */
  async connect() {
    const another = connect(options);
    another.watch("bo", () => {});
    another.onError(() => {});
    await live(another);
    another.close();
  },
  /** The link breaks and comes back, as a page's that was in the cache does. */
  async reconnect() {
    client ??= connect(options);
    await live(client);
    window.dispatchEvent(new Event("pagehide"));
    window.dispatchEvent(Object.assign(new Event("pageshow"), { persisted: true }));
    client.connect();
    await live(client);
  },
};

globalThis.play = async (name, count) => {
  for (let round = 0; round < count; round++) await globalThis.rounds[name]();
};
globalThis.rest = () => {
  client?.close();
  client = undefined;
};
globalThis.ready = true;
