import { Centrifuge } from "centrifuge";

const centrifuge = new Centrifuge("wss://chat.example/connection/websocket", { token: "token" });
const subscription = centrifuge.newSubscription("room");
subscription.on("join", globalThis.show);
subscription.on("leave", globalThis.show);
subscription.on("subscribed", async () => globalThis.show(await subscription.presence()));
subscription.subscribe();
centrifuge.connect();
