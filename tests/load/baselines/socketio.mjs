// Presence by hand on Socket.IO, as its documentation advises for production: WebSocket alone, no per-message compression,
// a room for each user's watchers.
//
// A client emits ("watch", user) and ("set", user, state); a watcher is told ("changed", user, state, version).
import { createServer } from "node:http";
import { Server } from "socket.io";

const http = createServer();
const server = new Server(http, {
  transports: ["websocket"],
  perMessageDeflate: false,
  httpCompression: false,
  serveClient: false,
  pingInterval: 120_000,
});
const users = new Map();

function userOf(number) {
  let user = users.get(number);
  if (user === undefined) users.set(number, (user = { state: 0, version: 0 }));
  return user;
}

server.on("connection", (socket) => {
  socket.on("watch", (number) => {
    const user = userOf(number);
    socket.join(`user:${number}`);
    socket.emit("changed", number, user.state, user.version);
  });
  socket.on("set", (number, state) => {
    const user = userOf(number);
    if (user.state === state) return;
    user.state = state;
    user.version += 1;
    server.to(`user:${number}`).emit("changed", number, state, user.version);
  });
});

http.listen(0, "127.0.0.1", 8192, () => console.log(`listening on ${http.address().port}`));
