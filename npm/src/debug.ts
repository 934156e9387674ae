// The log of frames that the option `debug` turns on. Loaded only then: a page that does not ask for it does not carry it.

import { bytesOf, frameOf, inWords } from "./frame-words.js";
import type { ClientFrame, ServerFrame } from "./protocol.js";
import { readClient, readServer } from "./wire.js";

/** Prints every frame of a socket to the console, in words, and how the socket opens and ends. */
export function logFrames(socket: WebSocket): void {
  const say = (text: string) => console.debug(`greendot ${text}`);
  const send = socket.send.bind(socket);
  socket.send = data => {
    say(`> ${told(data, readClient)}`);
    send(data);
  };
  say(`dials ${socket.url}`);
  socket.addEventListener("open", () => say("is connected"));
  socket.addEventListener("message", event => say(`< ${told(event.data, readServer)}`));
  socket.addEventListener("close", ({ code, reason }) => say(`is closed: ${code} ${reason}`.trimEnd()));
}

function told(data: unknown, read: (bytes: Uint8Array) => ClientFrame | ServerFrame | null): string {
  const bytes = bytesOf(data);
  return bytes === undefined ? "a message that is no frame" : inWords(frameOf(bytes, read), bytes);
}
