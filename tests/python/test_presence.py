"""The client from the document against the real server, at the address in GREENDOT_URL."""

import os
import time
import unittest

from greendot import Closed, Presence, WebSocket

URL = os.environ["GREENDOT_URL"]


class Scene(unittest.TestCase):
    """Each test has people of its own: the server is the same for all."""

    def person(self, name, **hello):
        client = Presence(URL, f"{self.id()}:{name}"[-100:], **hello)
        self.addCleanup(client.socket.socket.close)
        return client

    def name(self, name):
        return f"{self.id()}:{name}"[-100:]

    def sees(self, viewer, name, state):
        user = self.name(name)
        viewer.wait(lambda: viewer.view.get(user, {}).get("state") == state)
        return viewer.view[user]


class Watching(Scene):
    def test_the_server_speaks_json(self):
        ana = self.person("ana")
        self.assertEqual(ana.socket.subprotocol, "greendot.v1.json")
        self.assertEqual(ana.welcome["session"], ana.session)

    def test_a_snapshot_and_then_changes(self):
        ana = self.person("ana")
        ana.watch(self.name("bo"), self.name("nobody"))
        self.sees(ana, "bo", "offline")
        bo = self.person("bo")
        self.sees(ana, "bo", "online")
        bo.say("idle")
        self.sees(ana, "bo", "away")
        bo.say("active")
        self.sees(ana, "bo", "online")
        bo.say("note", note="at lunch 🍜")
        ana.wait(lambda: ana.view[self.name("bo")]["note"] == "at lunch 🍜")
        self.assertEqual(bo.bye(), 1000)
        self.assertLess(self.sees(ana, "bo", "offline")["seen_ago_ms"], 10_000)
        self.assertEqual(ana.view[self.name("nobody")], {"state": "offline", "note": None, "seen_ago_ms": None})

    def test_unwatched_is_out_of_sight(self):
        ana, bo = self.person("ana"), self.person("bo")
        ana.watch(self.name("bo"), self.name("cy"))
        self.sees(ana, "bo", "online")
        ana.unwatch(self.name("bo"))
        bo.say("idle")
        self.person("cy")
        self.sees(ana, "cy", "online")
        self.assertNotIn(self.name("bo"), ana.view)

    def test_a_bad_name_is_an_error_and_the_others_are_watched(self):
        ana = self.person("ana")
        ana.watch("", self.name("ana"), "u" * 129)
        self.assertEqual([it["code"] for it in ana.errors], ["bad_user", "bad_user"])
        self.assertEqual([it["about"] for it in ana.errors], [1, 3])
        self.sees(ana, "ana", "online")
        self.assertNotIn("", ana.view)


class Living(Scene):
    def test_beats_keep_a_session_alive_beyond_its_ttl(self):
        ana, bo = self.person("ana"), self.person("bo")
        ana.watch(self.name("bo"))
        end = time.monotonic() + bo.welcome["ttl_ms"] / 1000 * 1.1
        while time.monotonic() < end:
            bo.live(0.05)
            ana.live(0.05)
            self.assertEqual(ana.view[self.name("bo")]["state"], "online")

    def test_a_connection_that_breaks_is_forgiven_if_it_comes_back(self):
        ana, bo = self.person("ana"), self.person("bo", session="tab")
        ana.watch(self.name("bo"))
        bo.socket.socket.close()
        again = self.person("bo", session="tab")
        self.sees(ana, "bo", "online")
        again.socket.socket.close()
        self.sees(ana, "bo", "offline")

    def test_a_take_over_closes_the_old_connection(self):
        ana, old = self.person("ana"), self.person("bo", session="tab")
        ana.watch(self.name("bo"))
        new = self.person("bo", session="tab")
        self.assertEqual(old.wait_closed(), 4409)
        self.assertEqual(new.bye(), 1000)
        self.sees(ana, "bo", "offline")


class Choosing(Scene):
    def test_the_mode_is_the_users(self):
        ana, bo, phone = self.person("ana"), self.person("bo"), self.person("bo")
        ana.watch(self.name("bo"))
        bo.watch(self.name("bo"))
        bo.say("mode", mode="dnd")
        phone.wait(lambda: phone.mode == "dnd")
        self.sees(ana, "bo", "dnd")
        phone.say("mode", mode="invisible")
        bo.wait(lambda: bo.mode == "invisible")
        self.sees(ana, "bo", "offline")
        self.sees(bo, "bo", "online")

    def test_a_mode_chosen_while_away_goes_with_the_hello(self):
        ana = self.person("ana")
        ana.watch(self.name("bo"))
        bo = self.person("bo", mode={"mode": "busy", "fresh": True})
        self.assertEqual(bo.welcome["mode"], "busy")
        self.sees(ana, "bo", "busy")


class Refused(Scene):
    def closed(self, *frames, subprotocol="greendot.v1.json"):
        """The code that the server closes with after these messages."""
        socket = WebSocket(URL, subprotocol)
        self.addCleanup(socket.socket.close)
        for kind, payload in frames:
            socket.send(kind, payload)
        with self.assertRaises(Closed) as caught:
            while socket.receive(20.0):
                pass
        return caught.exception.code

    def test_each_mistake_has_its_code(self):
        text = WebSocket.TEXT
        self.assertEqual(self.closed((text, b'{"type":"hello","session":"1"}')), 4401)
        self.assertEqual(self.closed((text, b'{"type":"hello","token":"t"}')), 4404)
        self.assertEqual(self.closed((text, b'{"type":"idle"}')), 4400)
        self.assertEqual(self.closed((text, b"hello")), 4400)
        self.assertEqual(self.closed((WebSocket.BINARY, b"\x07")), 4400)
        self.assertEqual(self.closed((text, b" " * 40_000)), 4413)
        self.assertEqual(self.closed(subprotocol="greendot.v99.json"), 4426)

    def test_what_a_later_version_says_is_passed_over(self):
        ana = self.person("ana", mood="good")
        ana.say("dance", partner="bo")
        ana.watch(self.name("bo"))
        self.sees(ana, "bo", "offline")

    def test_a_note_too_long_is_an_error(self):
        ana = self.person("ana")
        ana.say("note", note="n" * 257)
        ana.wait(lambda: ana.errors)
        self.assertEqual(ana.errors[0]["code"], "note_too_long")


if __name__ == "__main__":
    unittest.main()
