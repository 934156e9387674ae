import { Presence, Socket } from "phoenix";

const socket = new Socket("/socket", { params: { token: "token" } });
socket.connect();
const channel = socket.channel("room");
const presence = new Presence(channel);
presence.onSync(() => globalThis.show(presence.list()));
channel.join();
