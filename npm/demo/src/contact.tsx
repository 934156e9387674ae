import { usePresence } from "greendot/react";
import { Avatar } from "./avatar.tsx";
import { Dot } from "./dot.tsx";
import { useNow } from "./now.ts";
import { aboutView } from "./words.ts";

interface Props {
  name: string;
  unread: number;
  /** Whether the own user hides from this one. */
  hidden: boolean;
  chosen: boolean;
  choose: (name: string) => void;
}

/** One contact: a row of its own, so that a change of one renders one. */
export function Contact({ name, unread, hidden, chosen, choose }: Props) {
  const view = usePresence(name);
  const now = useNow(20_000);
  return (
    <li data-user={name} data-state={view.state} data-stale={view.stale}>
      <button type="button" className="contact" aria-current={chosen || undefined} onClick={() => choose(name)}>
        <Avatar name={name}>
          <Dot state={view.state} />
        </Avatar>
        <span className="who">
          <span className="name">{name}</span>
          <span className="about">{aboutView(view, now)}</span>
        </span>
        {hidden && <span className="hidden-from">Can’t see you</span>}
        {unread > 0 && (
          <span className="unread">
            {unread}
            <span className="unseen"> unread</span>
          </span>
        )}
      </button>
    </li>
  );
}
