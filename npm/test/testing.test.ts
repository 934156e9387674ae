import { expect, test } from "vitest";
import { GreendotError } from "../src/errors.js";
import { fakePresence } from "../src/testing.js";
import { settled } from "./fake/client.js";

test("shows what it is told, at once", () => {
  const presence = fakePresence({ ana: "online", bo: { state: "offline", agoMs: 60_000 } });
  const stop = presence.subscribe(["ana", "bo", "cy"], () => {});
  expect(presence.get("ana")).toEqual({ user: "ana", state: "online", stale: false });
  const bo = presence.get("bo");
  expect(bo.state === "offline" && bo.lastSeen?.agoMs).toBe(60_000);
  expect(presence.get("cy").state).toBe("unknown");
  stop();
});

test("knows nobody who is not watched, as in life", () => {
  expect(fakePresence({ ana: "online" }).get("ana").state).toBe("unknown");
});

test("tells listeners once for all that was set together", async () => {
  const presence = fakePresence({ ana: "online" });
  const told: string[] = [];
  const stop = presence.watch(["ana", "bo"], changes => told.push(changes.map(it => `${it.user} ${it.state}`).join(", ")));
  await settled();
  presence.set({ ana: "away", bo: "dnd" });
  presence.set("bo", { state: "busy", note: "in a call" });
  await settled();
  expect(told).toEqual(["ana online", "ana away, bo busy"]);
  expect(presence.get("bo").note).toBe("in a call");
  expect(presence.watched).toEqual(["ana", "bo"]);
  stop();
  expect(presence.watched).toEqual([]);
});

test("plays the link, and views go stale with it", async () => {
  const presence = fakePresence({ ana: "online" });
  await settled();
  const links: string[] = [];
  presence.onLink(link => links.push(`${link.state}${link.stale ? " stale" : ""}`));
  presence.subscribe("ana", () => {});
  presence.setLink({ state: "waiting", retryMs: 2_000 });
  expect(presence.get("ana")).toMatchObject({ state: "online", stale: true });
  await settled();
  presence.connect();
  await settled();
  presence.setLink({ state: "live", stale: true });
  await settled();
  presence.close();
  await settled();
  expect(links).toEqual(["waiting stale", "live", "live stale", "closed stale"]);
});

test("plays rooms, and knows who is in one", async () => {
  const presence = fakePresence();
  presence.setRoom("page", { ana: "online", bo: "away" });
  presence.setRoom("hall", { ana: "online" }, 500);
  const counts: number[] = [];
  const leave = presence.room("page").subscribe(view => counts.push(view.count));
  const hall = presence.room("hall").subscribe(() => {});
  expect(presence.room("page").members.map(it => it.user)).toEqual(["ana", "bo"]);
  expect(presence.room("hall").view).toMatchObject({ count: 500, whole: false });
  expect(presence.joined).toEqual(["page", "hall"]);
  await settled();
  presence.setRoom("page", { ana: "online" });
  await settled();
  expect(counts).toEqual([2, 1]);
  leave();
  hall();
  expect(presence.joined).toEqual([]);
});

test("remembers what the app has chosen and ended, and tells what went wrong", async () => {
  const presence = fakePresence();
  const heard: unknown[] = [];
  presence.onMode(mode => heard.push(mode));
  presence.onSessions(sessions => heard.push(sessions.length));
  presence.onError(error => heard.push(error.code));
  presence.setMode("dnd");
  presence.setMode("dnd");
  presence.setNote("at lunch");
  presence.setSessions([{ id: "s1", idle: false, lingering: false, passive: false, here: true, since: new Date() }]);
  presence.endSession("s2");
  presence.fail(new GreendotError("token_failed", "there is no token", "the token function", "Sign in."));
  await settled();
  expect(heard).toEqual(["dnd", 1, "token_failed"]);
  expect([presence.mode, presence.note, presence.ended]).toEqual(["dnd", "at lunch", ["s2"]]);
});

test("refuses what a real server would never say", () => {
  const presence = fakePresence();
  expect(() => presence.set("ana", "here" as "online")).toThrow(/"here" is no state\. Give one of offline, online/);
  expect(() => presence.setLink({ state: "open" as "live" })).toThrow(/"open" is no state of a link/);
});
