import { createClient } from "@liveblocks/client";

const client = createClient({ authEndpoint: "/auth" });
const { room } = client.enterRoom("room", { initialPresence: { state: "online" } });
room.subscribe("others", globalThis.show);
