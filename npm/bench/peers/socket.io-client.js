// It has no presence: this is the connection alone, and events by hand.
import { io } from "socket.io-client";

const socket = io("/presence", { transports: ["websocket"], auth: { token: "token" } });
socket.on("presence", globalThis.show);
socket.emit("watch", ["ana", "bo"]);
