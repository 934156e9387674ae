import { WebsocketProvider } from "y-websocket";
import { Doc } from "yjs";

const { awareness } = new WebsocketProvider("wss://chat.example", "room", new Doc());
awareness.setLocalState({ user: "ana", state: "online" });
awareness.on("change", () => globalThis.show(awareness.getStates()));
