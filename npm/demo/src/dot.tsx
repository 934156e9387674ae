import type { State } from "greendot";

/** A dot that differs by shape as well as by colour. The words stand beside it, so readers pass it over. */
export function Dot({ state }: { state: State | "invisible" }) {
  return (
    <svg className={`dot dot-${state}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      {SHAPES[state]}
    </svg>
  );
}

const ring = <circle cx="8" cy="8" r="5.75" fill="none" stroke="currentColor" strokeWidth="2.5" />;
const disc = <circle cx="8" cy="8" r="7" fill="currentColor" />;

const SHAPES = {
  online: disc,
  away: <path d="M9.5 1.2A7 7 0 1 0 14.8 10 5.6 5.6 0 0 1 9.5 1.2Z" fill="currentColor" />,
  busy: (
    <>
      {ring}
      <circle cx="8" cy="8" r="2.6" fill="currentColor" />
    </>
  ),
  dnd: (
    <>
      {disc}
      <rect x="4" y="6.75" width="8" height="2.5" rx="1.25" className="dot-cut" />
    </>
  ),
  offline: ring,
  unknown: (
    <circle cx="8" cy="8" r="5.75" fill="none" stroke="currentColor" strokeWidth="2.5" strokeDasharray="2.6 3.4" />
  ),
  invisible: (
    <>
      {ring}
      <path d="M3.6 12.4 12.4 3.6" stroke="currentColor" strokeWidth="2.2" strokeLinecap="round" />
    </>
  ),
};
