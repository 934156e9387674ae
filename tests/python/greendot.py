"""A Greendot client in JSON, written from protocol/PROTOCOL.md alone, with Python's standard library alone.

It is what the document promises to be enough for, and a start for an SDK. One thread: whoever waits for something
(`wait`) also reads, answers pings and beats meanwhile.
"""

import base64
import hashlib
import json
import os
import random
import select
import socket
import struct
import time
from urllib.parse import urlsplit

SUBPROTOCOL = "greendot.v1.json"
ANSWER = 5.0  # seconds that the answer to a beat may take


class Closed(Exception):
    """The connection has ended; `code` is the close code, 1006 if there was none."""

    def __init__(self, code, reason=""):
        super().__init__(f"closed with {code} {reason}")
        self.code = code
        self.reason = reason
        self.retry = not 4400 <= code < 4500


class WebSocket:
    """As much of RFC 6455 as it takes."""

    TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10

    def __init__(self, url, subprotocol=SUBPROTOCOL):
        at = urlsplit(url)
        self.socket = socket.create_connection((at.hostname, at.port or 80), timeout=10)
        self.bytes = b""
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {at.path or '/'} HTTP/1.1\r\nHost: {at.netloc}\r\nConnection: Upgrade\r\n"
            f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
            f"Sec-WebSocket-Protocol: {subprotocol}\r\n\r\n".encode()
        )
        while b"\r\n\r\n" not in self.bytes:
            self._read_more()
        head, self.bytes = self.bytes.split(b"\r\n\r\n", 1)
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (it.partition(":") for it in lines)}
        accept = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        if " 101 " not in status + " " or headers.get("sec-websocket-accept") != base64.b64encode(accept).decode():
            raise ConnectionError(f"no WebSocket: {status}")
        self.subprotocol = headers.get("sec-websocket-protocol")

    def send(self, kind, payload):
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", 0x80 | kind, 0x80 | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", 0x80 | kind, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | kind, 0x80 | 127, size)
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
        try:
            self.socket.sendall(head + mask + masked)
        except OSError:
            pass  # what the server said before it went is read next

    def receive(self, seconds):
        """The next message (kind, payload); None if none came in the time. Pings are answered on the way."""
        deadline = time.monotonic() + seconds
        whole, parts = None, b""
        while True:
            frame = self._take_frame()
            if frame is None:
                left = deadline - time.monotonic()
                if left <= 0 and whole is None:
                    return None
                if select.select([self.socket], [], [], max(left, 0.0) if whole is None else ANSWER)[0]:
                    self._read_more()
                continue
            final, kind, payload = frame
            if kind == self.PING:
                self.send(self.PONG, payload)
            elif kind == self.CLOSE:
                self.send(self.CLOSE, payload[:2])
                self.socket.close()
                code = struct.unpack("!H", payload[:2])[0] if len(payload) >= 2 else 1005
                raise Closed(code, payload[2:].decode())
            elif kind != self.PONG:
                whole, parts = kind or whole, parts + payload
                if final:
                    return whole, parts

    def _take_frame(self):
        data = self.bytes
        if len(data) < 2:
            return None
        size, at = data[1] & 0x7F, 2
        if size >= 126:
            form, at = ("!H", 4) if size == 126 else ("!Q", 10)
            if len(data) < at:
                return None
            size = struct.unpack(form, data[2:at])[0]
        if len(data) < at + size:
            return None
        self.bytes = data[at + size :]
        return bool(data[0] & 0x80), data[0] & 0x0F, data[at : at + size]

    def _read_more(self):
        try:
            more = self.socket.recv(65536)
        except OSError:
            more = b""
        if not more:
            raise Closed(1006, "the connection broke")
        self.bytes += more


class Presence:
    """One connection of one session. `view` has what is known of each watched user."""

    def __init__(self, url, token, session=None, **hello):
        self.session = session or base64.b32encode(os.urandom(10)).decode()
        self.socket = WebSocket(url)
        self.view = {}
        self.errors = []
        self.welcome = None
        self.mode = None
        self.stale = False
        self.retry_after = 0.0
        self._users = {}  # number → user
        self._shown = {}  # number → version, within the epoch
        self._asked = {}  # request → numbers
        self._next = 1
        self._epoch = None
        self._left = set()
        self._sent = self._heard = time.monotonic()
        self._gap = None
        self._beat = 0
        self._question = None  # (number, since when)
        self.say("hello", session=self.session, token=token, **hello)
        self.wait(lambda: self.welcome is not None)

    def say(self, kind, **fields):
        self.socket.send(WebSocket.TEXT, json.dumps({"type": kind, **fields}).encode())
        self._sent = time.monotonic()

    def watch(self, *users):
        """Watches users and waits for their snapshot."""
        request = len(self._asked) + 1
        items = []
        for user in users:
            self._users[self._next] = user
            items.append({"number": self._next, "user": user})
            self._next += 1
        self._asked[request] = [it["number"] for it in items]
        self.say("watch", request=request, users=items)
        self.wait(lambda: self._asked[request] is None)

    def unwatch(self, user):
        numbers = [number for number, name in self._users.items() if name == user]
        for number in numbers:
            del self._users[number]
        self.view.pop(user, None)
        self.say("unwatch", numbers=numbers)

    def bye(self):
        """Says goodbye and returns the close code."""
        self.say("bye")
        return self.wait_closed()

    def wait_closed(self):
        try:
            self.wait(lambda: False)
        except Closed as closed:
            return closed.code

    def wait(self, holds, seconds=20.0):
        """Lives on until `holds` does."""
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() >= deadline:
                raise TimeoutError("it never came to be")
            self.live(0.05)

    def live(self, seconds):
        """Beats if it is time to, and takes the next frame if one comes within the time."""
        self._keep_alive(time.monotonic())
        message = self.socket.receive(seconds)
        if message is None:
            return
        self._heard = time.monotonic()
        kind, payload = message
        assert kind == WebSocket.TEXT
        frame = json.loads(payload)
        handle = getattr(self, "_on_" + frame["type"], None)
        if handle:  # else a frame of a later version
            handle(frame)

    def _keep_alive(self, now):
        if self._gap is None:
            return
        if self._question and now - self._question[1] > ANSWER:
            raise Closed(1006, "a beat was not answered")
        if not self._question and now >= min(self._sent, self._heard) + self._gap:
            self._beat = (self._beat + 1) % 256
            self._question = (self._beat, now)
            beat = self.welcome["beat_ms"] / 1000
            self._gap = beat * random.uniform(0.8, 1.0)
            self.say("beat", number=self._beat, input_age_ms=0)

    def _on_welcome(self, frame):
        self.welcome = frame
        self.mode = frame["mode"]
        self.stale = frame.get("stale") or False
        self._gap = frame["beat_ms"] / 1000 * random.random()

    def _on_beat_answer(self, frame):
        if self._question and frame["number"] == self._question[0]:
            self._question = None

    def _on_snapshot(self, frame):
        epoch, request = frame["epoch"], frame["request"]
        if epoch in self._left:
            return
        if epoch != self._epoch:
            if self._epoch is not None:
                self._left.add(self._epoch)
            self._epoch, self._shown = epoch, {}
        about = self._users if request == 0 else self._asked.get(request) or []
        listed = {it["number"] for it in frame["entries"]}
        refused = {it["about"] for it in self.errors if it["code"] in ("bad_user", "too_many_watches")}
        for number in about:
            if number not in listed and number not in refused:
                self._show({"number": number, "state": "offline", "version": 0})
        for entry in frame["entries"]:
            self._show(entry)
        if request:
            self._asked[request] = None

    def _on_events(self, frame):
        if frame["epoch"] == self._epoch:
            for entry in frame["entries"]:
                self._show(entry)

    def _show(self, entry):
        number = entry["number"]
        user = self._users.get(number)
        if user is None or entry["version"] <= self._shown.get(number, -1):
            return
        self._shown[number] = entry["version"]
        self.view[user] = {key: entry.get(key) for key in ("state", "note", "seen_ago_ms")}

    def _on_mode(self, frame):
        self.mode = frame["mode"]

    def _on_stale(self, frame):
        self.stale = frame["stale"]

    def _on_error(self, frame):
        self.errors.append(frame)

    def _on_close(self, frame):
        self.retry_after = frame["retry_after_ms"] / 1000
