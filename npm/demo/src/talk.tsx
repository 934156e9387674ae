import { type FormEvent, useEffect, useRef, useState } from "react";
import type { State } from "greendot";
import { usePresence } from "greendot/react";
import { Avatar } from "./avatar.tsx";
import { Dot } from "./dot.tsx";
import type { Message } from "./messages.ts";
import { useNow } from "./now.ts";
import { Viewers } from "./viewers.tsx";
import { aboutView, nice } from "./words.ts";

interface Props {
  user: string;
  other: string;
  /** Whether the own user hides from the other. */
  hidden: boolean;
  messages: readonly Message[];
  send: (text: string) => void;
  back: () => void;
}

/** The talk with one contact. */
export function Talk({ user, other, hidden, messages, send, back }: Props) {
  const view = usePresence(other);
  const now = useNow(20_000);
  const warning = warningOf(other, view.state, hidden);
  return (
    <main className="talk" aria-label={`Talk with ${nice(other)}`}>
      <header>
        <button type="button" className="back" onClick={back} aria-label="Back to the contacts">
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d="M15 5 8 12l7 7" fill="none" stroke="currentColor" strokeWidth="2.2" strokeLinecap="round" />
          </svg>
        </button>
        <Avatar name={other} />
        <div className="who" data-stale={view.stale}>
          <h2 className="name">{other}</h2>
          <p className="about">
            <Dot state={view.state} />
            {aboutView(view, now)}
          </p>
        </div>
      </header>
      <Viewers user={user} other={other} />
      <Log user={user} other={other} messages={messages} />
      {warning !== undefined && <p className="warning">{warning}</p>}
      <Composer other={other} send={send} />
    </main>
  );
}

/** The server keeps no messages: better said before one is written than found out afterwards. */
function warningOf(other: string, state: State, hidden: boolean): string | undefined {
  if (hidden) return `You hide from ${nice(other)}: what you write tells that you are here.`;
  if (state === "offline") return `${nice(other)} is offline and would miss what you write: this demo keeps no messages.`;
  if (state === "dnd") return `${nice(other)} does not want to be disturbed, but would get what you write.`;
  return undefined;
}

function Log({ user, other, messages }: Pick<Props, "user" | "other" | "messages">) {
  const log = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (log.current !== null) log.current.scrollTop = log.current.scrollHeight;
  }, [messages.length]);
  return (
    <div className="log" ref={log} role="log" aria-label="Messages" tabIndex={0}>
      {messages.length === 0 && <p className="empty">Say hello to {nice(other)}! There is nothing from before: this demo keeps no messages.</p>}
      <ol>
        {messages.map(message => (
          <li key={message.id} className={message.from === user ? "mine" : "theirs"} data-fate={message.fate}>
            <span className="unseen">{message.from === user ? "You" : nice(message.from)}: </span>
            <p>{message.text}</p>
            <small>{message.fate === "failed" ? `Not sent: ${message.why}` : <At time={message.at} />}</small>
          </li>
        ))}
      </ol>
    </div>
  );
}

function At({ time }: { time: Date }) {
  const words = time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return <time dateTime={time.toISOString()}>{words}</time>;
}

function Composer({ other, send }: Pick<Props, "other" | "send">) {
  const [text, setText] = useState("");
  const field = useRef<HTMLInputElement>(null);
  // Who chose a contact wants to write. Not where a finger did: a keyboard would cover half of the talk.
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() === "") return;
    send(text.trim());
    setText("");
  };
  return (
    <form className="composer" onSubmit={submit}>
      <input
        ref={field}
        aria-label={`Message to ${nice(other)}`}
        placeholder={`Message ${nice(other)}`}
        maxLength={2_000}
        autoComplete="off"
        enterKeyHint="send"
        value={text}
        onChange={event => setText(event.target.value)}
      />
      <button disabled={text.trim() === ""}>Send</button>
    </form>
  );
}
