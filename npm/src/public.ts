export type { CloseName, ServerErrorName, Why } from "./codes.js";
export type { Connect } from "./connect.js";
export { type ErrorCode, GreendotError, NotAllowed } from "./errors.js";
export type { WasmSource } from "./load.js";
export type {
  LastSeen,
  Link,
  Mode,
  OfflineView,
  Options,
  OwnSession,
  Presence,
  PresentView,
  Room,
  RoomMember,
  RoomView,
  State,
  Stop,
  UnknownView,
  View,
} from "./types.js";
