// The package's own reader of frames, for tests that look at the wire.
import { build } from "esbuild";

const { outputFiles } = await build({
  entryPoints: [`${import.meta.dirname}/../src/wire.ts`],
  bundle: true,
  format: "esm",
  write: false,
});
export const { readClient, readServer } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);
