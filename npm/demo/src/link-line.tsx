import { useEffect, useState } from "react";
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

  const text = aboutLink(link, wasLive);
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
