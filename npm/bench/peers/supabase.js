import { RealtimeClient } from "@supabase/realtime-js";

const client = new RealtimeClient("wss://realtime.example", { params: { apikey: "token" } });
const channel = client.channel("room", { config: { presence: { key: "ana" } } });
channel.on("presence", { event: "sync" }, () => globalThis.show(channel.presenceState()));
channel.subscribe(status => status === "SUBSCRIBED" && channel.track({ state: "online" }));
