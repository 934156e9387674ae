import { afterEach } from "vitest";
import { connector } from "../../src/connect.js";
import type { Load } from "../../src/load.js";
import type { Options, Presence } from "../../src/types.js";
import { FakeEngine } from "./engine.js";

const opened: Presence[] = [];

afterEach(() => {
  for (const client of opened.splice(0)) client.close();
  FakeEngine.all.length = 0;
});

/** Opens a client over fake engines; whatever the test says, it is closed afterwards. */
export function open(options: Partial<Options> = {}, load: Load = async () => FakeEngine): Presence {
  const all: Options = { url: "wss://chat.example/presence", token: () => "token", headless: true, ...options };
  const client = connector(load)(all);
  opened.push(client);
  return client;
}

/** Opens a client and lets it become live. */
export async function openLive(options: Partial<Options> = {}): Promise<{ client: Presence; engine: FakeEngine }> {
  const client = open(options);
  await settled();
  const engine = FakeEngine.last;
  engine.live();
  await settled();
  return { client, engine };
}

/** Lets everything run that waits in promises and microtasks. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}
