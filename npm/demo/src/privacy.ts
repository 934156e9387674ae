import { useCallback, useEffect, useState } from "react";

/** How exactly others see when one was there last, by the server's words. */
export type Wish = "exact" | "delayed" | "rounded" | "words" | "never";

export const WISH_WORDS: Record<Wish, string> = {
  exact: "To the minute",
  delayed: "15 minutes later",
  rounded: "To 5 minutes",
  words: "Roughly, in words",
  never: "To nobody",
};

/** What one has chosen. */
interface Choices {
  readonly lastSeen: Wish;
  readonly hiddenFrom: readonly string[];
}

export interface Privacy extends Choices {
  /** Whether the server's word is there yet. */
  readonly known: boolean;
  /** Why the last change was not made. */
  readonly failure?: string;
  readonly hide: (from: string, hidden: boolean) => void;
  readonly setLastSeen: (wish: Wish) => void;
  /** Asks again what is chosen: it may have been changed in another tab. */
  readonly refresh: () => void;
}

/** A user's privacy choices, kept by the server. A change shows at once, and is taken back if the server does not make it. */
export function usePrivacy(user: string): Privacy {
  const [choices, setChoices] = useState<Choices>();
  const [hoped, setHoped] = useState<Choices>();
  const [failure, setFailure] = useState<string>();

  const ask = useCallback(async (path: string, said?: object, hope?: Choices) => {
    if (hope !== undefined) setHoped(hope);
    try {
      const headers = { "content-type": "application/json" };
      const response = await fetch(path, said && { method: "POST", headers, body: JSON.stringify(said) });
      if (!response.ok) throw new Error(`the server refused it (${response.status})`);
      setChoices((await response.json()) as Choices);
      setFailure(undefined);
    } catch (error) {
      // Without a network `fetch` throws a TypeError, whose words are the browser's own.
      setFailure(error instanceof Error && !(error instanceof TypeError) ? error.message : "the server cannot be reached");
    } finally {
      // Of two changes at once the later one's hope stays.
      setHoped(now => (now === hope ? undefined : now));
    }
  }, []);
  const { lastSeen, hiddenFrom } = hoped ?? choices ?? NOTHING_CHOSEN;

  const refresh = useCallback(() => void ask(`/api/privacy?user=${encodeURIComponent(user)}`), [ask, user]);
  useEffect(refresh, [refresh]);
  const hide = (from: string, hidden: boolean) => {
    const others = hiddenFrom.filter(name => name !== from);
    void ask("/api/privacy/hide", { user, from, hidden }, { lastSeen, hiddenFrom: hidden ? [...others, from] : others });
  };
  const setLastSeen = (wish: Wish) => {
    void ask("/api/privacy/last-seen", { user, lastSeen: wish }, { lastSeen: wish, hiddenFrom });
  };

  const known = choices !== undefined;
  return { lastSeen, hiddenFrom, known, hide, setLastSeen, refresh, ...(failure !== undefined && { failure }) };
}

const NOTHING_CHOSEN: Choices = { lastSeen: "exact", hiddenFrom: [] };
