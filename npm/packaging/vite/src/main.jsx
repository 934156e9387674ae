import { connect } from "greendot";
import { PresenceProvider, useConnection, usePresence } from "greendot/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

const page = new URLSearchParams(location.search);
const presence = connect({ url: page.get("server"), token: () => page.get("user") });

function Contact({ user }) {
  const { state } = usePresence(user);
  return <li data-user={user} data-state={state}>{user} is {state}</li>;
}

function Contacts() {
  return <ul data-link={useConnection().state}>{["ana", "bo"].map(user => <Contact key={user} user={user} />)}</ul>;
}

createRoot(document.getElementById("app")).render(
  <StrictMode>
    <PresenceProvider client={presence}><Contacts /></PresenceProvider>
  </StrictMode>,
);
