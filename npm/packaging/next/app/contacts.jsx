"use client";

import { connect } from "greendot";
import { PresenceProvider, usePresence } from "greendot/react";
import { useState } from "react";

export function Contacts({ server, user }) {
  // Made while the server renders, too: there it stays closed.
  const [presence] = useState(() => connect({ url: server, token: () => user }));
  return (
    <PresenceProvider client={presence}>
      <ul>{["ana", "bo"].map(user => <Contact key={user} user={user} />)}</ul>
    </PresenceProvider>
  );
}

function Contact({ user }) {
  const { state } = usePresence(user);
  return <li data-user={user} data-state={state}>{user} is {state}</li>;
}
