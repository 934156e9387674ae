import type { ClientFrame, ServerFrame } from "./protocol.js";

/** A frame that was read; null: of a kind that is unknown here; an error: unreadable. */
export type Read<Frame> = Frame | null | Error;

/** The bytes of what a socket sends or has received; undefined: it is text, and no frame. */
export function bytesOf(data: unknown): Uint8Array | undefined {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : undefined;
}

/** Reads a frame, and never throws. */
export function frameOf<Frame>(bytes: Uint8Array, read: (bytes: Uint8Array) => Frame | null): Read<Frame> {
  try {
    return read(bytes);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** A frame as its JSON form says it; never its secrets. */
export function inWords(frame: Read<ClientFrame | ServerFrame>, bytes: Uint8Array): string {
  if (frame === null) return `kind ${bytes[0]}, unknown here (${bytes.length} bytes)`;
  if (frame instanceof Error) return `unreadable (${frame.message}): ${hex(bytes)}`;
  const { type, ...fields } = frame;
  const text = JSON.stringify(fields, (key, value) => (SECRETS.includes(key) ? `${value.length} bytes` : value));
  return text === "{}" ? type : `${type} ${text}`;
}

/** Who holds one of these may speak in the user's name. */
const SECRETS: readonly string[] = ["token", "ticket"];

/** Enough of an unreadable frame to see what it is. */
function hex(bytes: Uint8Array): string {
  const shown = Array.from(bytes.subarray(0, 32), byte => byte.toString(16).padStart(2, "0")).join(" ");
  return bytes.length > 32 ? `${shown} …` : shown;
}
