import { connect } from "greendot";

addEventListener("message", ({ data: { server, user } }) => {
  const presence = connect({ url: server, token: () => user });
  presence.watch(["ana", "bo"], changes => {
    for (const { user, state } of changes) postMessage({ user, state });
  });
}, { once: true });
