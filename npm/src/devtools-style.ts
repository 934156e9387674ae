/** How the panel looks: dark, so that it is not taken for a part of the app. */
export const PANEL_STYLE = `
:host { all: initial; position: fixed; right: 12px; bottom: 12px; z-index: 2147483000; --link: #9aa0a6 }
:host([data-link="live"]) { --link: #34c46a }
:host([data-link="live"][data-stale]), :host([data-link="connecting"]), :host([data-link="waiting"]) { --link: #f0a92e }
:host([data-link="stopped"]) { --link: #f0665a }
details {
  box-sizing: border-box; max-width: min(34rem, calc(100vw - 24px)); color: #e8eaed; background: #202124; border: 1px solid #3c4043;
  border-radius: 10px; box-shadow: 0 4px 20px #0006; font: 12px/1.5 ui-sans-serif, system-ui, sans-serif; overflow: hidden;
}
details[open] { width: min(34rem, calc(100vw - 24px)) }
summary { cursor: pointer; padding: 6px 12px; list-style: none; user-select: none }
summary::-webkit-details-marker { display: none }
summary:focus-visible, :focus-visible { outline: 2px solid #8ab4f8; outline-offset: -2px }
summary i { display: inline-block; width: 9px; height: 9px; margin-right: 4px; border-radius: 50%; background: var(--link) }
summary b { font-weight: 400; color: #bdc1c6 }
dl { display: grid; grid-template-columns: repeat(3, 1fr); gap: 1px; margin: 0; background: #3c4043; border-block: 1px solid #3c4043 }
dl div { padding: 4px 12px; background: #292a2d }
dt { color: #9aa0a6; font-size: 11px }
dd { margin: 0; font-variant-numeric: tabular-nums; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.table { max-height: 11rem; overflow: auto }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums }
th { position: sticky; top: 0; padding: 3px 12px; text-align: left; font-weight: 400; font-size: 11px; color: #9aa0a6; background: #202124 }
td { padding: 1px 12px; max-width: 12rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
td:nth-child(2)::before { content: ""; display: inline-block; width: 7px; height: 7px; margin-right: 6px; border-radius: 50%; background: #9aa0a6 }
tr[data-state="online"] td:nth-child(2)::before { background: #34c46a }
tr[data-state="away"] td:nth-child(2)::before { background: #f0a92e }
tr[data-state="busy"] td:nth-child(2)::before, tr[data-state="dnd"] td:nth-child(2)::before { background: #f0665a }
tr[data-state=""] td::before { display: none !important }
td:nth-child(3) { color: #f0a92e }
td:nth-child(n + 4), th:nth-child(n + 4) { text-align: right }
header { display: flex; justify-content: space-between; align-items: center; padding: 4px 12px; color: #9aa0a6; border-top: 1px solid #3c4043 }
button { font: inherit; color: #8ab4f8; background: none; border: 0; cursor: pointer }
ol { box-sizing: border-box; height: 11rem; margin: 0; padding: 4px 12px 8px; overflow: auto; list-style: none; background: #17181a; font: 11px/1.55 ui-monospace, monospace }
li { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.sent { color: #8ab4f8 }
.heard { color: #a8dab5 }
.socket { color: #9aa0a6 }
@media (forced-colors: active) { summary i, td:nth-child(2)::before { forced-color-adjust: none } }
`;
