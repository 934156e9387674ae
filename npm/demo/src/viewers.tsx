import { useMyMode, useRoom } from "greendot/react";
import { Avatar } from "./avatar.tsx";
import { listed, nice } from "./words.ts";

/** Who looks at the talk with `other` just now: faces, and the same in words. Mounting it is looking. */
export function Viewers({ user, other }: { user: string; other: string }) {
  const { members, known, stale } = useRoom(talkOf(user, other));
  const [mode] = useMyMode();
  const others = members.map(member => member.user).filter(name => name !== user);
  const shown = mode === "invisible" ? others : [user, ...others];
  return (
    <div className="viewers" data-viewers={others.join(" ")} data-known={known} data-stale={stale}>
      <span className="faces" aria-hidden="true">
        {shown.map(name => (
          <Avatar key={name} name={name} />
        ))}
      </span>
      <p className="about" aria-live="polite">
        {aboutViewers(others, mode === "invisible", known)}
      </p>
    </div>
  );
}

function aboutViewers(others: readonly string[], hidden: boolean, known: boolean): string {
  if (!known) return "Looking who is here…";
  if (hidden) {
    const seen = "nobody sees that you are";
    return others.length === 0 ? `You are invisible: ${seen} here` : `${listed(others.map(nice))} ${are(others)} viewing this talk; ${seen}`;
  }
  if (others.length === 0) return "Only you are viewing this talk";
  return `${listed(["You", ...others.map(nice)])} are viewing this talk`;
}

function are({ length }: readonly string[]): string {
  return length === 1 ? "is" : "are";
}

/** The room of a talk: the same, whichever of the two asks. */
function talkOf(user: string, other: string): string {
  return `talk:${[user, other].sort().join("+")}`;
}
