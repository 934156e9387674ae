import { type FormEvent, useId, useState } from "react";
import type { Mode } from "greendot";
import { useMyMode, usePresence, usePresenceClient } from "greendot/react";
import { Avatar } from "./avatar.tsx";
import { Dot } from "./dot.tsx";
import { MODE_WORDS, STATE_WORDS } from "./words.ts";

/** The own user: how one looks to the others, and how one wants to. */
export function Me({ user }: { user: string }) {
  const [mode, setMode] = useMyMode();
  const view = usePresence(user);
  const select = useId();
  const hidden = mode === "invisible";
  const seen = hidden ? "Others see you as offline" : `Others see: ${STATE_WORDS[view.state]}`;
  return (
    <section className="me" aria-label="You" data-me={user} data-mode={mode} data-stale={view.stale}>
      <Avatar name={user}>
        <Dot state={hidden ? "invisible" : view.state} />
      </Avatar>
      <div className="who">
        <h1 className="name">{user}</h1>
        <p className="about">{view.stale ? "Not connected" : seen}</p>
      </div>
      <label htmlFor={select} className="unseen">
        How you appear
      </label>
      <select id={select} className="mode" value={mode} onChange={event => setMode(event.target.value as Mode)}>
        {Object.entries(MODE_WORDS).map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
      <Note now={view.note ?? ""} />
    </section>
  );
}

/** The words beside the own dot. */
function Note({ now }: { now: string }) {
  const client = usePresenceClient();
  const [draft, setDraft] = useState<string>();
  const save = (event?: FormEvent) => {
    event?.preventDefault();
    if (draft !== undefined && draft.trim() !== now) client.setNote(draft.trim());
    setDraft(undefined);
  };
  return (
    <form className="note" onSubmit={save}>
      <input
        aria-label="Your note"
        placeholder="Add a note…"
        maxLength={60}
        autoComplete="off"
        value={draft ?? now}
        onChange={event => setDraft(event.target.value)}
        onBlur={() => save()}
      />
    </form>
  );
}
