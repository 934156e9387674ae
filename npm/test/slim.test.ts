import { expect, test } from "vitest";
import type { GreendotError } from "../src/errors.js";
import { connect, type SlimOptions } from "../src/slim.js";

const options = { url: "wss://chat.example/presence", token: () => "token", headless: true };

test("without a wasm file the slim entry says what to give", async () => {
  const client = connect(options as unknown as SlimOptions);
  const error = await new Promise<GreendotError>(told => client.onError(told));
  expect(error).toMatchObject({ code: "bad_option", culprit: "the option wasm", next: expect.stringContaining("/assets/client_bg.wasm") });
  client.close();
});
