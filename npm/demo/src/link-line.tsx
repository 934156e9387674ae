import { useEffect, useState, useSyncExternalStore } from "react";
import { useConnection, usePresenceClient } from "greendot/react";
import { aboutLink } from "./words.ts";

/** Says when what is seen may be old, and why. Empty while all is well; always there, so that readers announce it. */
export function LinkLine() {
  const link = useConnection();
  const client = usePresenceClient();
  const [wasLive, setWasLive] = useState(false);
  useEffect(() => {
    if (link.state === "live") setWasLive(true);
  }, [link]);

  const online = useOnline();
  const text = aboutLink(link, wasLive, online);
  const idle = link.state === "waiting" || link.state === "stopped" || link.state === "closed";
  return (
    <div className="link-line" data-state={link.state} data-stale={link.stale}>
      <p role="status">{text}</p>
      {idle && (
        <button type="button" onClick={() => client.connect()}>
          {link.state === "waiting" ? "Try now" : link.why === "replaced" ? "Use it here" : "Connect"}
        </button>
      )}
    </div>
  );
}

/** Whether the browser has a network, by its own word. */
function useOnline(): boolean {
  return useSyncExternalStore(followNetwork, () => navigator.onLine);
}

function followNetwork(changed: () => void): () => void {
  const ends = new AbortController();
  window.addEventListener("online", changed, { signal: ends.signal });
  window.addEventListener("offline", changed, { signal: ends.signal });
  return () => ends.abort();
}
