/**
 * How a dot looks. Each state has a shape of its own beside its colour: not everybody tells green from red. In forced
 * colours it takes the system's, and the shapes tell.
 */
export const STYLE = `
:host {
  --_size: var(--green-dot-size, 0.7em);
  display: inline-block;
  width: var(--_size);
  height: var(--_size);
  vertical-align: baseline;
}
:host([hidden]) { display: none }
span {
  box-sizing: border-box;
  display: block;
  position: relative;
  width: 100%;
  height: 100%;
  background: var(--_color);
  border-radius: 50%;
  forced-color-adjust: none;
  transition: background-color 0.2s, opacity 0.2s;
}
:host { --_color: var(--green-dot-unknown, #9aa0a6) }
:host([state="online"]) { --_color: var(--green-dot-online, #1a9c4b) }
:host([state="away"]) { --_color: var(--green-dot-away, #d98a00) }
:host([state="busy"]) { --_color: var(--green-dot-busy, #d93025) }
:host([state="dnd"]) { --_color: var(--green-dot-dnd, #b3261e) }
:host([state="offline"]) { --_color: var(--green-dot-offline, #80868b) }
:host([stale]) span { opacity: var(--green-dot-stale-opacity, 0.5) }
/* Away: a moon. */
:host([state="away"]) span {
  mask: radial-gradient(circle at 22% 30%, #0000 42%, #000 45%);
}
/* Busy: a ring around a point. */
:host([state="busy"]) span {
  mask: radial-gradient(circle, #000 24%, #0000 28% 42%, #000 46%);
}
/* Do not disturb: a bar. */
:host([state="dnd"]) span {
  mask: linear-gradient(#000 0 0), linear-gradient(#000 0 0);
  mask-size: 100% 100%, 56% 18%;
  mask-position: center;
  mask-repeat: no-repeat;
  mask-composite: exclude;
}
/* Offline: a ring. Unknown: a ring of dashes. */
:host([state="offline"]) span {
  background: none;
  border: max(1.5px, calc(var(--_size) * 0.18)) solid var(--_color);
}
:host(:not([state])) span,
:host([state="unknown"]) span {
  background: none;
  border: max(1px, calc(var(--_size) * 0.14)) dashed var(--_color);
}
@media (prefers-reduced-motion: reduce) {
  span { transition: none }
}
@media (forced-colors: active) {
  :host { --_color: GrayText }
  :host([state="online"]) { --_color: Highlight }
  :host([state="away"]), :host([state="busy"]), :host([state="dnd"]) { --_color: CanvasText }
  :host([state="offline"]) { --_color: CanvasText }
}
`;
