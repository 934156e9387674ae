/** The protocol's limit on a user's name, in bytes of UTF-8. */
export const USER_BYTES = 128;

/** Its limit on a session's id and on a device's name. */
export const SESSION_BYTES = 64;

/** How long a text is in UTF-8, which is what the limits count. */
export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
