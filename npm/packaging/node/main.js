import { connect } from "greendot";
import { WebSocket } from "ws";

globalThis.WebSocket ??= WebSocket;
const [server, user] = process.argv.slice(2);
const presence = connect({ url: server, token: () => user, headless: true });
const stop = presence.watch(["ana", "bo"], changes => {
  for (const { user, state } of changes) console.log(`${user} is ${state}`);
});
process.on("SIGTERM", () => {
  presence.signOut();
  // What is watched is kept for a minute, for a page that may come back: without it the program ends at once.
  stop();
});
