// The log of frames that the option `debug` turns on. Loaded only then: a page that does not ask for it does not carry it.

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

/** A frame as its JSON form says it; never its secrets. */
function told(data: unknown, read: (bytes: Uint8Array) => ClientFrame | ServerFrame | null): string {
  if (!(data instanceof ArrayBuffer) && !ArrayBuffer.isView(data)) return "a message that is no frame";
  const bytes =
    data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  try {
    const frame = read(bytes);
    if (frame === null) return `kind ${bytes[0]}, unknown here (${bytes.length} bytes)`;
    const { type, ...fields } = frame;
    const text = JSON.stringify(fields, (key, value) => (SECRETS.includes(key) ? `${value.length} bytes` : value));
    return text === "{}" ? type : `${type} ${text}`;
  } catch (error) {
    return `unreadable (${error instanceof Error ? error.message : error}): ${hex(bytes)}`;
  }
}

/** Who holds one of these may speak in the user's name. */
const SECRETS: readonly string[] = ["token", "ticket"];

/** Enough of an unreadable frame to see what it is. */
function hex(bytes: Uint8Array): string {
  const shown = Array.from(bytes.subarray(0, 32), byte => byte.toString(16).padStart(2, "0")).join(" ");
  return bytes.length > 32 ? `${shown} …` : shown;
}
