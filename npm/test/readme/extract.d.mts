/** A piece of the README's code. */
export interface Block {
  readonly language: string;
  readonly line: number;
  readonly code: string;
}
export function blocks(): Block[];
export function scripts(html: string): string[];
