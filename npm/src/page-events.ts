// What can happen to a page, by the wasm client's numbers.

export const hidden = 0;
export const visible = 1;
export const frozen = 2;
export const resumed = 3;
export const offline = 4;
export const online = 5;
/** The page goes away; it may come back from the back/forward cache. */
export const left = 6;
/** It has come back. */
export const back = 7;
