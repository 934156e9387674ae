import { defineConfig } from "vite";

// What the package loads only when it is needed makes a worker of several files, which are modules.
export default defineConfig({ worker: { format: "es" } });
