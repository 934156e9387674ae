// No bundler: the package's own files, as they are, beside the page.
import { cpSync, mkdirSync } from "node:fs";

mkdirSync("dist", { recursive: true });
cpSync("node_modules/greendot/dist", "dist/greendot", { recursive: true });
for (const file of ["index.html", "main.js"]) cpSync(file, `dist/${file}`);
