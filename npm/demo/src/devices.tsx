import { useId } from "react";
import type { OwnSession } from "greendot";
import { useMyPresence } from "greendot/react";
import { useNow } from "./now.ts";
import { ago } from "./words.ts";

/** Where one is signed in just now, and how to end what one has forgotten there. */
export function Devices() {
  const { sessions, endSession } = useMyPresence();
  const now = useNow(20_000);
  const heading = useId();
  return (
    <section className="devices" aria-labelledby={heading}>
      <h2 id={heading}>Where you are</h2>
      <ul>
        {sessions.map(session => (
          <li key={session.id} data-here={session.here}>
            <span>{session.device ?? "A device"}</span>
            <span className="about">{aboutSession(session, now)}</span>
            {!session.here && (
              <button type="button" onClick={() => endSession(session.id)}>
                End
                <span className="unseen"> it on {session.device ?? "that device"}</span>
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function aboutSession({ here, idle, lingering, since }: OwnSession, now: number): string {
  if (here) return "this page";
  if (lingering) return "just left";
  const opened = `opened ${ago(now - since.getTime())}`;
  return idle ? `idle, ${opened}` : opened;
}

/** What a person would call this device. */
export function deviceName(): string {
  const { userAgent } = navigator;
  const browser = ["Firefox", "Edg", "Chrome", "Safari"].find(name => userAgent.includes(`${name}/`)) ?? "A browser";
  const system = ["Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux"].find(name => userAgent.includes(name));
  const named = browser === "Edg" ? "Edge" : browser;
  return system === undefined ? named : `${named} on ${system.replace("Mac OS", "a Mac")}`;
}
