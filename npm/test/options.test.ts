import { describe, expect, test, vi } from "vitest";
import { GreendotError } from "../src/errors.js";
import { settingsOf } from "../src/options.js";
import type { Options } from "../src/types.js";

const token = () => "token";

function refused(options: Options): GreendotError {
  try {
    settingsOf(options, true);
  } catch (error) {
    if (error instanceof GreendotError) return error;
  }
  throw new Error("these options were taken");
}

describe("addresses", () => {
  test.each([
    ["/presence", "wss://chat.example/presence"],
    ["presence?x=1#frag", "wss://chat.example/app/presence?x=1"],
    ["http://other.example/p", "ws://other.example/p"],
    ["https://other.example/p", "wss://other.example/p"],
    ["ws://127.0.0.1:80/p", "ws://127.0.0.1/p"],
    [new URL("wss://other.example/p"), "wss://other.example/p"],
  ])("%s becomes a socket's", (url, absolute) => {
    vi.stubGlobal("location", { href: "https://chat.example/app/room" });
    expect(settingsOf({ url, token }, true).nodes).toEqual([absolute]);
  });

  test("of several nodes keep their order", () => {
    const urls = ["wss://a.example/p", "wss://b.example/p"];
    expect(settingsOf({ urls, token }, true).nodes).toEqual(urls);
  });

  test.each([
    { url: "/presence", token },
    { url: "ftp://chat.example/", token },
    { url: "wss://a.example", urls: ["wss://b.example"], token },
    { urls: [], token },
    { urls: ["wss://a.example", "//"], token },
    { token },
    { url: 5 as unknown as string, token },
  ])("that cannot work are refused: %o", options => {
    expect(refused(options)).toMatchObject({ code: "bad_option", culprit: "the option url" });
  });
});

describe("other options", () => {
  const url = "wss://chat.example/presence";

  test("have defaults that leave it to the server", () => {
    expect(settingsOf({ url, token }, true)).toMatchObject({ session: undefined, idleAfterSecs: -1 });
  });

  test("are passed on in the wasm client's units", () => {
    expect(settingsOf({ url, token, idleAfter: 0 }, true).idleAfterSecs).toBe(0);
    expect(settingsOf({ url, token, idleAfter: 0.5 }, true).idleAfterSecs).toBe(1);
    expect(settingsOf({ url, token, idleAfter: 600 }, true).idleAfterSecs).toBe(600);
  });

  test.each([
    [{ url, token: "secret" as unknown as () => string }, "token"],
    [undefined as unknown as Options, "token"],
    [{ url, token, idleafter: 5 } as Options, "idleafter"],
    [{ url, token, session: "" }, "session"],
    [{ url, token, session: "é".repeat(33) }, "session"],
    [{ url, token, idleAfter: -1 }, "idleAfter"],
    [{ url, token, idleAfter: Number.NaN }, "idleAfter"],
    [{ url, token, idleAfter: Infinity }, "idleAfter"],
  ])("that cannot work are refused, by name: %o", (options, name) => {
    expect(refused(options)).toMatchObject({ code: "bad_option", culprit: `the option ${name}` });
  });

  test("that are secret are not told", () => {
    const error = refused({ url, token: "secret" as unknown as () => string });
    expect(error.message).not.toContain("secret");
  });
});
