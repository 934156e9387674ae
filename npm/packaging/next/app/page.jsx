import { connect } from "greendot";
import { Contacts } from "./contacts";

export default async function Page({ searchParams }) {
  const { server, user } = await searchParams;
  // The package may be imported and called on the server: there it stays closed.
  const { state } = connect({ url: server, token: () => user }).link;
  return <main data-link-on-server={state}><Contacts server={server} user={user} /></main>;
}
