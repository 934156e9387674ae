import Pusher from "pusher-js";

const pusher = new Pusher("key", { cluster: "eu", authEndpoint: "/auth" });
const channel = pusher.subscribe("presence-room");
channel.bind("pusher:subscription_succeeded", globalThis.show);
channel.bind("pusher:member_added", globalThis.show);
channel.bind("pusher:member_removed", globalThis.show);
