import { useCallback, useEffect, useReducer } from "react";

export interface Message {
  readonly id: number;
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly at: Date;
  /** `sending` until the server has it; `failed` if it never got there. */
  readonly fate: "sending" | "sent" | "failed";
  /** Of one that failed: the reason. */
  readonly why?: string | undefined;
  /** Whether the server has told of it: its next one with the same words is another message. */
  readonly told: boolean;
}

type Said = Pick<Message, "from" | "to" | "text">;

type Step =
  | { do: "say"; id: number; said: Said }
  | { do: "settle"; id: number; why: string | undefined }
  | { do: "hear"; id: number; said: Said; at: Date };

let nextId = 1;

/** The messages from and to a user, and how to send one. The server keeps none: who is not there misses them. */
export function useMessages(user: string): [readonly Message[], (to: string, text: string) => void] {
  const [messages, dispatch] = useReducer(step, []);

  useEffect(
    () => listen(user, (said, at) => dispatch({ do: "hear", id: nextId++, said, at })),
    [user],
  );

  const send = useCallback(
    (to: string, text: string) => {
      const id = nextId++;
      const said = { from: user, to, text };
      dispatch({ do: "say", id, said });
      void post(said).then(why => dispatch({ do: "settle", id, why }));
    },
    [user],
  );
  return [messages, send];
}

function step(messages: readonly Message[], step: Step): readonly Message[] {
  switch (step.do) {
    case "say":
      return [...messages, { id: step.id, ...step.said, at: new Date(), fate: "sending", told: false }];
    case "settle":
      return messages.map(message => (message.id === step.id ? { ...message, ...settled(step.why) } : message));
    case "hear": {
      // The server tells the sender, too, so that all of a person's tabs show the same talk.
      const own = messages.find(message => !message.told && isSame(message, step.said));
      const told = { at: step.at, fate: "sent", told: true } as const;
      if (own === undefined) return [...messages, { id: step.id, ...step.said, ...told }];
      return messages.map(message => (message === own ? { ...own, ...told } : message));
    }
  }
}

function settled(why: string | undefined): Pick<Message, "fate" | "why"> {
  return { fate: why === undefined ? "sent" : "failed", why };
}

function isSame(message: Message, said: Said): boolean {
  return message.from === said.from && message.to === said.to && message.text === said.text;
}

/** Says it to the server; returns why it did not get there, if it did not. */
async function post(said: Said): Promise<string | undefined> {
  try {
    const headers = { "content-type": "application/json" };
    const response = await fetch("/api/messages", { method: "POST", headers, body: JSON.stringify(said) });
    return response.ok ? undefined : `the server refused it (${response.status})`;
  } catch {
    return "the server cannot be reached";
  }
}

/** Listens while the page is there. An open stream would keep it out of the back/forward cache. */
function listen(user: string, hear: (said: Said, at: Date) => void): () => void {
  const ends = new AbortController();
  let stream: EventSource | undefined;
  const open = () => {
    stream?.close();
    stream = new EventSource(`/api/messages?user=${encodeURIComponent(user)}`);
    stream.onmessage = event => {
      const { from, to, text, at } = JSON.parse(event.data) as Said & { at: number | string };
      hear({ from, to, text }, new Date(at));
    };
  };
  open();
  window.addEventListener("pagehide", () => stream?.close(), { signal: ends.signal });
  window.addEventListener("pageshow", event => event.persisted && open(), { signal: ends.signal });
  return () => {
    ends.abort();
    stream?.close();
  };
}
