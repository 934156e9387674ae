// Its modular form, with no more than this needs.
import { BaseRealtime, FetchRequest, RealtimePresence, WebSocketTransport } from "ably/modular";

const client = new BaseRealtime({
  authUrl: "/auth",
  clientId: "ana",
  plugins: { FetchRequest, RealtimePresence, WebSocketTransport },
});
const { presence } = client.channels.get("room");
presence.subscribe(globalThis.show);
presence.enter({ state: "online" });
