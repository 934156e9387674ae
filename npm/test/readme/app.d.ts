// What the README's app has beside what is shown.
declare const presence: import("../../src/index.js").Presence;
declare const fetchToken: () => Promise<string>;
declare const botToken: string;
declare const users: string[];
declare const id: string;
declare const documentId: string;
declare function show(...what: unknown[]): void;
declare function list(...what: unknown[]): void;
declare function log(...what: unknown[]): void;
declare function render(what: readonly unknown[]): void;
declare function setOnline(user: string, is: boolean): void;
declare function t(key: string): string;
declare function lastSeenText(lastSeen: import("../../src/index.js").LastSeen | undefined): string;
declare function defineGreenDot(...given: Parameters<typeof import("../../src/element.js").defineGreenDot>): void;
declare const useRoom: typeof import("../../src/react.js").useRoom;
declare function Contact(props: { user: string }): import("react").ReactElement;
declare module "*.vue" {
  const component: import("vue").Component;
  export default component;
}
declare module "ws" {
  export const WebSocket: typeof globalThis.WebSocket;
}
declare var IS_REACT_ACT_ENVIRONMENT: boolean;
