/** Whom one can be (the demo's server knows the same), and whom one sees if the server does not say. */
export const PEOPLE = ["ana", "bo", "cy", "dee", "eli"];

/** The contacts of a user, by the server's word if it has one. */
export async function contactsOf(user: string, signal: AbortSignal): Promise<string[]> {
  try {
    const response = await fetch(`/api/contacts?user=${encodeURIComponent(user)}`, { signal });
    if (response.ok) {
      const names: unknown = await response.json();
      if (Array.isArray(names)) return names.filter(name => typeof name === "string");
    }
  } catch {
    // Nobody answers: see below.
  }
  return PEOPLE.filter(name => name !== user);
}

/** A colour of one's own, the same wherever the name appears. */
export function hueOf(name: string): number {
  let hash = 7;
  for (const char of name) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % 360;
  return (hash * 137) % 360;
}
