import { describe, expect, test, vi } from "vitest";
import { LINKS } from "../src/codes.js";
import { GreendotError, NotAllowed } from "../src/errors.js";
import { openLive, settled } from "./fake/client.js";

describe("the token", () => {
  test("is asked for anew at each dial and answers that dial", async () => {
    let n = 0;
    const { engine } = await openLive({ token: async () => `token-${++n}` });
    engine.host.needToken(1);
    await settled();
    engine.host.needToken(2);
    await settled();
    expect(engine.calls.slice(-2)).toEqual(["token 1 token-1", "token 2 token-2"]);
  });

  test("may be given at once", async () => {
    const { engine } = await openLive({ token: () => "plain" });
    engine.host.needToken(7);
    await settled();
    expect(engine.calls.at(-1)).toBe("token 7 plain");
  });

  test.each([
    ["thrown at once", () => { throw new Error("502"); }],
    ["rejected", async () => Promise.reject(new Error("502"))],
  ])("that fails (%s) is told, to be retried", async (_how, token) => {
    const { client, engine } = await openLive({ token });
    const errors: GreendotError[] = [];
    client.onError(error => errors.push(error));
    engine.host.needToken(3);
    await settled();
    expect(engine.calls.at(-1)).toBe("tokenFailed 3 false");
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ code: "token_failed", cause: new Error("502") });
  });

  test("refused for good stops the client", async () => {
    const { client, engine } = await openLive({ token: () => { throw new NotAllowed(); } });
    client.onError(() => {});
    engine.host.needToken(3);
    await settled();
    expect(engine.calls.at(-1)).toBe("tokenFailed 3 true");
  });

  test.each([
    [4401, "bad_token"],
    [4403, "not_allowed"],
  ])("refused by the server (%d) is said once, with the next step", async (code, name) => {
    const { engine } = await openLive();
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    engine.host.link(LINKS.indexOf("stopped"), code, -1);
    await settled();
    expect(log).toHaveBeenCalledOnce();
    expect(log.mock.calls[0]?.[0]).toMatchObject({ code: name, culprit: "the token" });
    log.mockRestore();
  });

  test("refused by another copy of this package is understood too", async () => {
    const { client, engine } = await openLive({
      token: () => { throw Object.assign(new Error("no"), { code: "not_allowed" }); },
    });
    client.onError(() => {});
    engine.host.needToken(3);
    await settled();
    expect(engine.calls.at(-1)).toBe("tokenFailed 3 true");
  });

  test("that is no string is the app's mistake, and said so", async () => {
    const token = (async () => null) as unknown as () => Promise<string>;
    const { client, engine } = await openLive({ token });
    const heard = vi.fn<(error: GreendotError) => void>();
    client.onError(heard);
    engine.host.needToken(4);
    await settled();
    expect(engine.calls.at(-1)).toBe("tokenFailed 4 false");
    expect(heard.mock.calls[0]?.[0].message).toContain("it gave null");
  });
});
