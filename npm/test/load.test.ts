import { afterEach, describe, expect, test, vi } from "vitest";
import { GreendotError } from "../src/errors.js";
import { loader, type WasmSource } from "../src/load.js";
import { FakeEngine } from "./fake/engine.js";
import { wasm } from "./fake/wasm.js";

const bytes = new Uint8Array([0, 97, 115, 109]);

afterEach(() => {
  wasm.loads.length = 0;
  wasm.failure = undefined;
});

async function failure(load: Promise<unknown>): Promise<GreendotError> {
  return load.then(
    () => Promise.reject(new Error("it loaded")),
    (error: unknown) => {
      if (error instanceof GreendotError) return error;
      throw error;
    },
  );
}

describe("the loader", () => {
  test("loads once, whoever asks and however often", async () => {
    const own = vi.fn(() => bytes);
    const load = loader(own);
    expect(await Promise.all([load(), load(), load()])).toEqual([FakeEngine, FakeEngine, FakeEngine]);
    expect(wasm.loads).toEqual([bytes]);
    expect(own).toHaveBeenCalledOnce();
  });

  test("hands a response on, to be compiled as it streams in", async () => {
    const response = new Response(bytes);
    const fetched = vi.fn(async () => response);
    vi.stubGlobal("fetch", fetched);
    await loader(() => new URL("https://cdn.example/client_bg.wasm"))();
    expect(wasm.loads).toEqual([response]);
  });

  test("takes the app's own source first", async () => {
    const own = vi.fn((): WasmSource => "/own.wasm");
    await loader(own)(bytes);
    expect(own).not.toHaveBeenCalled();
    expect(wasm.loads).toEqual([bytes]);
  });

  test("names the address and the status of what is not there", async () => {
    vi.stubGlobal("fetch", async () => new Response("no", { status: 404 }));
    const error = await failure(loader(() => "/assets/client_bg.wasm")());
    expect(error).toMatchObject({ code: "load_failed", culprit: "/assets/client_bg.wasm" });
    expect(error.message).toContain("404");
  });

  test("names the policy where that is the reason", async () => {
    wasm.failure = new Error("Refused: 'wasm-unsafe-eval' is not an allowed source of script");
    const error = await failure(loader(() => bytes)());
    expect(error.next).toContain("script-src");
  });

  test("forgets a failure, and only that", async () => {
    const fetched = vi.fn().mockRejectedValueOnce(new TypeError("Failed to fetch")).mockResolvedValue(new Response(bytes));
    vi.stubGlobal("fetch", fetched);
    const load = loader(() => "/client_bg.wasm");
    await failure(load());
    expect(await load()).toBe(FakeEngine);
    expect(await load()).toBe(FakeEngine);
    expect(fetched).toHaveBeenCalledTimes(2);
  });
});
