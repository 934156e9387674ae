import { useEffect, useMemo, useState } from "react";
import { usePresenceClient } from "greendot/react";
import { Contact } from "./contact.tsx";
import { LinkLine } from "./link-line.tsx";
import { Me } from "./me.tsx";
import { type Message, useMessages } from "./messages.ts";
import { contactsOf } from "./people.ts";
import { usePrivacy } from "./privacy.ts";
import { PrivacyMenu } from "./privacy-menu.tsx";
import { Talk } from "./talk.tsx";

export function App({ user }: { user: string }) {
  const contacts = useContacts(user);
  const privacy = usePrivacy(user);
  const [messages, send] = useMessages(user);
  const [other, setOther] = useState<string>();
  /** Ids of messages up to which each talk has been read. */
  const [read, setRead] = useState<Readonly<Record<string, number>>>({});

  const talks = useMemo(() => byPerson(user, messages), [user, messages]);
  const newest = other === undefined ? 0 : (talks.get(other)?.at(-1)?.id ?? 0);
  useEffect(() => {
    if (other !== undefined) setRead(before => ({ ...before, [other]: newest }));
  }, [other, newest]);

  return (
    <div className="app" data-pane={other === undefined ? "contacts" : "talk"}>
      <LinkLine />
      <aside>
        <Me user={user} />
        <PrivacyMenu contacts={contacts} privacy={privacy} />
        <nav aria-label="Contacts">
          <ul className="contacts">
            {contacts.map(name => (
              <Contact
                key={name}
                name={name}
                unread={unreadOf(name, talks.get(name) ?? [], read[name] ?? 0)}
                hidden={privacy.hiddenFrom.includes(name)}
                chosen={name === other}
                choose={setOther}
              />
            ))}
          </ul>
        </nav>
        <Leave />
      </aside>
      {other === undefined ? (
        <main className="talk nobody">
          <p>Choose somebody to talk to.</p>
        </main>
      ) : (
        <Talk
          key={other}
          user={user}
          other={other}
          hidden={privacy.hiddenFrom.includes(other)}
          messages={talks.get(other) ?? []}
          send={text => send(other, text)}
          back={() => setOther(undefined)}
        />
      )}
    </div>
  );
}

/** Says goodbye, so that the others see it at once, and goes back to the choice of names. */
function Leave() {
  const client = usePresenceClient();
  return (
    <a className="leave" href="./" onClick={() => client.signOut()}>
      Sign out
    </a>
  );
}

function useContacts(user: string): readonly string[] {
  const [contacts, setContacts] = useState<readonly string[]>([]);
  useEffect(() => {
    const ends = new AbortController();
    void contactsOf(user, ends.signal).then(names => ends.signal.aborted || setContacts(names));
    return () => ends.abort();
  }, [user]);
  return contacts;
}

function byPerson(user: string, messages: readonly Message[]): Map<string, Message[]> {
  const talks = new Map<string, Message[]>();
  for (const message of messages) {
    const other = message.from === user ? message.to : message.from;
    const talk = talks.get(other);
    if (talk === undefined) talks.set(other, [message]);
    else talk.push(message);
  }
  return talks;
}

function unreadOf(name: string, talk: readonly Message[], read: number): number {
  return talk.filter(message => message.from === name && message.id > read).length;
}
