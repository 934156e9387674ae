import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { connect } from "greendot";
import { PresenceProvider } from "greendot/react";
import { App } from "./app.tsx";
import { deviceName } from "./devices.tsx";
import { PEOPLE } from "./people.ts";
import { Picker } from "./picker.tsx";
import { nice } from "./words.ts";
import "./style.css";

const place = document.getElementById("app");
if (place === null) throw new Error("the page has no #app");
const root = createRoot(place);

const user = new URLSearchParams(location.search).get("user")?.trim() ?? "";
if (PEOPLE.includes(user)) chat(user);
else root.render(<Picker stranger={user} />);

function chat(user: string): void {
  document.title = `${nice(user)} · Greendot chat`;
  // A demo believes the name. A real app fetches a token from its backend here.
  const presence = connect({ url: "/presence", token: () => user, device: deviceName() });

  const showLink = ({ state } = presence.link) => {
    document.documentElement.dataset["link"] = state === "closed" ? "stopped" : state;
  };
  showLink();
  presence.onLink(showLink);

  root.render(
    <StrictMode>
      <PresenceProvider client={presence}>
        <App user={user} />
      </PresenceProvider>
    </StrictMode>,
  );
}
