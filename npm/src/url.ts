/** Where HTTP requests go that belong to a presence socket: its address, one step further down. */
export function besideSocket(socket: string, name: string): URL {
  const url = new URL(socket);
  url.protocol = url.protocol.replace("ws", "http");
  url.pathname = url.pathname.replace(/\/*$/, `/${name}`);
  return url;
}
