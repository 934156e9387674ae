import { type SyntheticEvent, useId, useState } from "react";
import type { Mode } from "greendot";
import { useMyMode } from "greendot/react";
import { Devices } from "./devices.tsx";
import { type Privacy, WISH_WORDS, type Wish } from "./privacy.ts";
import { listed, nice } from "./words.ts";

/** Who sees the own user, and how exactly. */
export function PrivacyMenu({ contacts, privacy }: { contacts: readonly string[]; privacy: Privacy }) {
  const { lastSeen, hiddenFrom, known, failure, hide, setLastSeen, refresh } = privacy;
  const [mode] = useMyMode();
  const select = useId();
  const hint = useId();
  const [open, setOpen] = useState(false);
  const toggled = (event: SyntheticEvent<HTMLDetailsElement>) => {
    setOpen(event.currentTarget.open);
    if (event.currentTarget.open) refresh();
  };
  return (
    <details className="privacy" onToggle={toggled}>
      <summary>
        Privacy
        <span className="about">{summaryOf(privacy, mode)}</span>
      </summary>
      <div className="choices">
        <label htmlFor={select}>When you were last here is shown</label>
        <select
          id={select}
          value={lastSeen}
          disabled={!known}
          onChange={event => setLastSeen(event.target.value as Wish)}
        >
          {Object.entries(WISH_WORDS).map(([value, word]) => (
            <option key={value} value={value}>
              {word}
            </option>
          ))}
        </select>
        <fieldset disabled={!known} aria-describedby={hint}>
          <legend>Hide from</legend>
          {contacts.map(name => (
            <label key={name}>
              <input
                type="checkbox"
                checked={hiddenFrom.includes(name)}
                onChange={event => hide(name, event.target.checked)}
              />
              {nice(name)}
            </label>
          ))}
        </fieldset>
        <p className="hint" id={hint}>
          To them you are offline from that moment on. What you write still reaches them.
        </p>
        {open && <Devices />}
        {failure !== undefined && <p role="alert">Not changed: {failure}.</p>}
      </div>
    </details>
  );
}

/** What is chosen, to be read without opening the menu. */
function summaryOf({ hiddenFrom, lastSeen, known }: Privacy, mode: Mode): string {
  if (!known) return "";
  if (mode === "invisible") return "Nobody sees you";
  const names = hiddenFrom.map(nice);
  const some = names.length > 2 ? `${names.length} people` : listed(names);
  if (names.length > 0) return `Hidden from ${some}`;
  return lastSeen === "exact" ? "Everybody sees you" : `Last seen: ${WISH_WORDS[lastSeen].toLowerCase()}`;
}
