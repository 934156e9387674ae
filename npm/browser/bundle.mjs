// A page of a test's own: one script that is bundled here, on the demo server's origin.
import { build } from "esbuild";

const WASM = `${import.meta.dirname}/../dist/wasm/client_bg.wasm`;

/** Opens one that runs this file of the folder, as this user; `prepare` sees the page before anything runs in it. */
export async function openBundled(browser, server, file, user, prepare = () => {}) {
  const bundle = await build({
    entryPoints: [`${import.meta.dirname}/${file}`],
    bundle: true,
    format: "esm",
    write: false,
    define: { "process.env.NODE_ENV": '"production"', "import.meta.url": "location.href" },
  });
  const page = await browser.page();
  prepare(page);
  await page.route("**/*.wasm", route => route.fulfill({ path: WASM }));
  // A document of the server itself: one that is made up here would be of no network, and could not reach a local one.
  await page.goto(`http://127.0.0.1:${server.port}/api/contacts?user=${user}`);
  await page.evaluate(() => document.body.replaceChildren());
  await page.addScriptTag({ type: "module", content: bundle.outputFiles[0].text });
  await page.waitForFunction(() => globalThis.ready);
  return page;
}
