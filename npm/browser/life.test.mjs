import { play } from "./life/cases.mjs";
import { Chromium } from "./life/chromium.mjs";

play(Chromium.start);
