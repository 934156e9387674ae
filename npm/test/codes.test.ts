import { expect, test } from "vitest";
import { errorNameOf, whyOf } from "../src/codes.js";

test("an unknown code is a loss, and no code is no reason", () => {
  expect(whyOf(1006)).toBe("lost");
  expect(whyOf(0)).toBeUndefined();
  expect(whyOf(4409)).toBe("replaced");
});

test("an unknown error is one all the same", () => {
  expect(errorNameOf(77)).toBe("other");
  expect(errorNameOf(1)).toBe("bad_user");
});
