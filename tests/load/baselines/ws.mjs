// Presence by hand on `ws`, as its documentation advises for production: binary messages, no per-message compression, a
// message made once and sent to each watcher.
//
// A client says [1, user] to watch a user, [2, user, state] to set one's state. A watcher is told [user, state, version].
import { createServer } from "node:http";
import { WebSocketServer } from "ws";

const http = createServer();
const server = new WebSocketServer({ server: http, perMessageDeflate: false });
const users = new Map();

function userOf(number) {
  let user = users.get(number);
  if (user === undefined) users.set(number, (user = { state: 0, version: 0, watchers: new Set() }));
  return user;
}

server.on("connection", (socket) => {
  const watched = [];
  socket.on("message", (data) => {
    const number = data.readUInt16LE(1);
    const user = userOf(number);
    if (data[0] === 1) {
      user.watchers.add(socket);
      watched.push(user);
      socket.send(message(number, user), { binary: true });
    } else if (user.state !== data[3]) {
      user.state = data[3];
      user.version += 1;
      const changed = message(number, user);
      for (const watcher of user.watchers) watcher.send(changed, { binary: true });
    }
  });
  socket.on("close", () => watched.forEach((user) => user.watchers.delete(socket)));
  socket.on("error", () => {});
});

function message(number, user) {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(number, 0);
  bytes[2] = user.state;
  bytes.writeUInt32LE(user.version, 3);
  return bytes;
}

http.listen(0, "127.0.0.1", 8192, () => console.log(`listening on ${http.address().port}`));
