import type { CSSProperties, ReactNode } from "react";
import { hueOf } from "./people.ts";

/** A person's first letter on their colour; what is given goes on the corner. */
export function Avatar({ name, children }: { name: string; children?: ReactNode }) {
  return (
    <span className="avatar" style={{ "--hue": hueOf(name) } as CSSProperties}>
      <span aria-hidden="true">{[...name][0]?.toUpperCase()}</span>
      {children}
    </span>
  );
}
