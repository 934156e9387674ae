import { play } from "../life/cases.mjs";
import { Firefox } from "../life/firefox.mjs";

play(Firefox.start);
