/** Random 32-bit numbers. Not `crypto.randomUUID`: that one is missing on pages served without TLS. */
export function randomWords(count: number): Uint32Array {
  return crypto.getRandomValues(new Uint32Array(count));
}
