import fc from "fast-check";
import { expect, test } from "vitest";
import { presencesOf } from "../src/sources.js";
import { fakePresence } from "../src/testing.js";
import type { State, View } from "../src/types.js";
import { settled } from "./fake/client.js";

const USERS = ["ana", "bo", "cy", "dee"];
const STATES: State[] = ["online", "away", "busy", "dnd", "offline"];

const user = fc.constantFrom(...USERS);
const deed = fc.oneof(
  fc.record({ kind: fc.constant("watch" as const), users: fc.uniqueArray(user, { minLength: 1 }) }),
  fc.record({ kind: fc.constant("follow" as const), users: fc.uniqueArray(user, { minLength: 1 }) }),
  fc.record({ kind: fc.constant("stop" as const), which: fc.nat(9) }),
  fc.record({ kind: fc.constant("set" as const), user, state: fc.constantFrom(...STATES) }),
  fc.record({ kind: fc.constant("tick" as const) }),
);

/** One part of the app: whom it shows, how it believes they are, and its end. */
interface Part {
  readonly users: readonly string[];
  readonly shown: Map<string, View>;
  readonly stop: () => void;
}

test("in whichever order parts come and go and users change, each part ends with the truth, and nobody else is watched", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { maxLength: 60 }), async deeds => {
      const truth = new Map<string, State>(USERS.map(it => [it, "offline"]));
      const client = fakePresence(Object.fromEntries(truth));
      const parts: Part[] = [];
      const ended = new Set<Part>();
      for (const it of deeds) {
        if (it.kind === "watch") {
          const shown = new Map<string, View>();
          const part: Part = {
            users: it.users,
            shown,
            stop: client.watch(it.users, changes => {
              expect(ended.has(part)).toBe(false);
              for (const view of changes) shown.set(view.user, view);
            }),
          };
          parts.push(part);
        } else if (it.kind === "follow") {
          // As a binding does: it reads all of them whenever it is told of one.
          const source = presencesOf(client, it.users);
          const shown = new Map<string, View>();
          const read = (): void => void source.now().forEach(view => shown.set(view.user, view));
          parts.push({ users: it.users, shown, stop: source.subscribe(read) });
          read();
        } else if (it.kind === "stop" && parts.length > 0) {
          const [part] = parts.splice(it.which % parts.length, 1);
          if (part === undefined) continue;
          ended.add(part);
          part.stop();
          part.stop();
        } else if (it.kind === "set") {
          truth.set(it.user, it.state);
          client.set(it.user, it.state);
        } else if (it.kind === "tick") await settled();
      }
      await settled();
      for (const { users, shown } of parts) {
        expect(users.map(it => shown.get(it)?.state)).toEqual(users.map(it => truth.get(it)));
        // The very objects that everybody else is given.
        for (const it of users) expect(shown.get(it)).toBe(client.get(it));
      }
      expect(client.watched).toEqual([...new Set(parts.flatMap(it => it.users))].sort());
    }),
    { numRuns: 300 },
  );
});
