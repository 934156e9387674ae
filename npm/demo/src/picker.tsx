import { Avatar } from "./avatar.tsx";
import { PEOPLE } from "./people.ts";

/** Asks who one is. Links, so that two people can be opened in two tabs. `stranger`: a name that nobody has, or none. */
export function Picker({ stranger }: { stranger: string }) {
  return (
    <main className="picker">
      <h1>
        <img src={new URL("../icon.svg", import.meta.url).href} alt="" width="36" height="36" />
        Who are you?
      </h1>
      {stranger !== "" && <p role="alert">Nobody here is called {stranger}: the demo knows the names below.</p>}
      <p>Choose a name, then open this page again as somebody else and watch each other’s dots.</p>
      <ul>
        {PEOPLE.map(name => (
          <li key={name}>
            <a href={`?user=${name}`}>
              <Avatar name={name} />
              <span className="name">{name}</span>
            </a>
          </li>
        ))}
      </ul>
    </main>
  );
}
