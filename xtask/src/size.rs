//! `cargo xtask size`: the bytes of what a page loads.
//!
//! A page loads the wasm module and, minified inside its own bundle, the package's JavaScript. esbuild plays the page's
//! bundler; a framework that the page has anyway is left out. What may be loaded is limited (see `limits`). What peers weigh is bundled the same way from the
//! pages in `npm/bench/peers`: the smallest sensible ones that connect, are present and hear who else is.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::run::npm_bin;
use crate::table::{self, grouped};
use crate::{limits, npm, paths, wire};

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Measure what goes over the wire, beside what peers send for the same content
    #[arg(long)]
    wire: bool,

    /// Leave the peers out, which are installed for it
    #[arg(long)]
    no_peers: bool,

    /// Write the figures to this file, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What is measured: pages that import these entries, as package.json exports them. A React page makes its client
/// with the first.
const PAGES: &[(&str, &[&str])] = &[("greendot", &["."]), ("greendot/react", &[".", "./react"])];

/// Parts of the package that a page loads when it comes to that: when it asks for the log of frames, a user's own
/// sessions or a room, or where no socket opens.
const LATER: [&str; 4] = ["debug", "own", "poll", "rooms"];

/// One loaded thing, before and after compression.
#[derive(Clone, Copy)]
struct Size {
    raw: usize,
    gzip: usize,
    brotli: usize,
}

/// What a page loads that imports some entries.
struct Page {
    entry: &'static str,
    wasm: Size,
    script: Size,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.wire {
        return wire::run(args.json.as_deref());
    }
    let pages = measure()?;
    println!("\n{}\ngreendot/react: a React page, which imports greendot, too", table(&pages));
    let entries = entries()?;
    println!("\n{}", list("an entry by itself", &entries));
    if !args.no_peers {
        println!("\n{}", list("a peer's page", &peers()?));
    }
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&json(&pages))? + "\n";
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let mut weighed: Vec<(&str, usize)> =
        entries.iter().map(|(name, size)| (name.as_str(), size.gzip)).collect();
    for (part, size) in pages.iter().flat_map(Page::parts) {
        let name = match part {
            "wasm" => limits::WASM,
            "js" => limits::SCRIPT,
            _ => limits::PAGE,
        };
        // The first page is the one that is promised; the others are that and an entry.
        if !weighed.iter().any(|it| it.0 == name) {
            weighed.push((name, size.gzip));
        }
    }
    limits::hold(&weighed)
}

/// Every entry of the package, without what it shares with a page that has it anyway.
fn entries() -> Result<Vec<(String, Size)>> {
    let package = npm::package_json()?;
    let exports = package["exports"].as_object().context("npm/package.json exports nothing")?;
    let scripts = exports.keys().filter(|name| resolve(&exports[*name]).is_some_and(is_script));
    scripts.map(|name| Ok((name.clone(), Size::of(&bundled(&[name.as_str()])?)?))).collect()
}

fn is_script(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|it| it == "js")
}

/// The pages in `npm/bench/peers`.
fn peers() -> Result<Vec<(String, Size)>> {
    crate::run::npm("ci --prefix bench --ignore-scripts --no-progress").run()?;
    let folder = paths::npm().join("bench/peers");
    let mut files: Vec<_> =
        fs::read_dir(&folder)?.map(|it| it.map(|it| it.path())).collect::<Result<_, _>>()?;
    files.sort();
    let named = |file: &PathBuf| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, Size::of(&minified(file, &[])?)?))
    };
    files.iter().map(named).collect()
}

fn list(head: &str, sizes: &[(String, Size)]) -> String {
    let row = |(name, size): &(String, Size)| {
        [name.clone(), grouped(size.raw), grouped(size.gzip), grouped(size.brotli)]
    };
    table::render([head, "raw", "gzip -9", "brotli 11"], &sizes.iter().map(row).collect::<Vec<_>>())
}

/// As the test command does: nothing is installed for it.
pub(crate) fn own() -> Result<()> {
    run(&Args { no_peers: true, ..Args::default() })
}

/// Builds the package and measures it.
fn measure() -> Result<Vec<Page>> {
    npm::build()?;
    let wasm = Size::of(&fs::read(paths::wasm().join("client_bg.wasm"))?)?;
    let page = |&(entry, exports)| Ok(Page { entry, wasm, script: Size::of(&bundled(exports)?)? });
    PAGES.iter().map(page).collect()
}

/// A page's script that uses all of these entries, minified.
fn bundled(exports: &[&str]) -> Result<Vec<u8>> {
    let package = npm::package_json()?;
    let folder = paths::scratch().join("size");
    fs::create_dir_all(&folder)?;
    let mut imports = String::new();
    for export in exports {
        let entry = resolve(&package["exports"][export])
            .with_context(|| format!("npm/package.json exports no {export:?} for browsers"))?;
        imports += &format!("export * from {};\n", json!(paths::npm().join(entry)));
    }
    let page = folder.join(format!("page{}.js", exports.join("+").replace(['.', '/'], "-")));
    fs::write(&page, imports)?;
    let peers = package["peerDependencies"].as_object();
    let own = LATER.map(|part| format!("*/{part}.js"));
    // A framework that the page has.
    let frameworks =
        peers.into_iter().flatten().flat_map(|it| [it.0.clone(), format!("{}/*", it.0)]);
    minified(&page, &own.into_iter().chain(frameworks).collect::<Vec<_>>())
}

/// A page's script with all that it imports but for these.
fn minified(page: &Path, external: &[String]) -> Result<Vec<u8>> {
    let name = page.file_stem().unwrap_or_default().to_string_lossy();
    let bundle = paths::scratch().join("size").join(format!("{name}.min.js"));
    let esbuild =
        npm_bin("esbuild", "--bundle --minify --format=esm --target=es2022 --log-level=warning")
            .arg(page)
            .arg("--define:process.env.NODE_ENV=\"production\"")
            .arg(format!("--outfile={}", bundle.display()));
    external.iter().fold(esbuild, |it, name| it.arg(format!("--external:{name}"))).quiet().run()?;
    fs::read(&bundle).with_context(|| format!("esbuild left no {}", bundle.display()))
}

/// The file that a browser's bundler takes for an export.
fn resolve(export: &Value) -> Option<&str> {
    match export {
        Value::String(file) => Some(file),
        _ => ["browser", "import", "default"]
            .iter()
            .find_map(|condition| resolve(export.get(condition)?)),
    }
}

impl Size {
    /// Measured as servers send files prepared at build time: at the strongest setting of each format.
    fn of(bytes: &[u8]) -> Result<Self> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(bytes)?;
        let mut brotli = Vec::new();
        let strongest =
            brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, ..Default::default() };
        brotli::BrotliCompress(&mut &bytes[..], &mut brotli, &strongest)?;
        Ok(Self { raw: bytes.len(), gzip: gzip.finish()?.len(), brotli: brotli.len() })
    }

    fn with(self, other: Self) -> Self {
        Self {
            raw: self.raw + other.raw,
            gzip: self.gzip + other.gzip,
            brotli: self.brotli + other.brotli,
        }
    }
}

impl Page {
    fn parts(&self) -> [(&'static str, Size); 3] {
        [("wasm", self.wasm), ("js", self.script), ("total", self.wasm.with(self.script))]
    }
}

fn table(pages: &[Page]) -> String {
    let row = |entry, (part, size): (&str, Size)| {
        let name = format!("{entry} {part}");
        [name, grouped(size.raw), grouped(size.gzip), grouped(size.brotli)]
    };
    let rows: Vec<_> =
        pages.iter().flat_map(|page| page.parts().map(|part| row(page.entry, part))).collect();
    table::render(["bytes", "raw", "gzip -9", "brotli 11"], &rows)
}

/// `{ ENTRY: { "wasm" | "js" | "total": { "raw", "gzip", "brotli" } } }`
fn json(pages: &[Page]) -> Value {
    let size = |size: Size| json!({ "raw": size.raw, "gzip": size.gzip, "brotli": size.brotli });
    let page = |page: &Page| -> Value {
        page.parts().into_iter().map(|(part, bytes)| (part.to_string(), size(bytes))).collect()
    };
    pages.iter().map(|each| (each.entry.to_string(), page(each))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_formats() {
        let size = Size::of(&[b'a'; 10_000]).unwrap();
        assert_eq!(size.raw, 10_000);
        assert!(size.gzip < 100 && size.brotli < size.gzip, "{} {}", size.gzip, size.brotli);
    }

    #[test]
    fn the_report_adds_up_what_a_page_loads() {
        let size = |raw| Size { raw, gzip: raw / 2, brotli: raw / 4 };
        let pages = [Page { entry: "greendot", wasm: size(8_000), script: size(4_000) }];
        assert_eq!(json(&pages)["greendot"]["total"]["gzip"], 6_000);
        let total = table(&pages).lines().last().map(str::to_string);
        assert_eq!(total.as_deref(), Some("greendot total  12,000    6,000      3,000"));
    }

    #[test]
    fn a_browser_takes_the_default_export() {
        let export = json!({ "types": "a.d.ts", "node": "n.js", "default": "b.js" });
        assert_eq!(resolve(&export), Some("b.js"));
        let nested =
            json!({ "import": { "types": "a.d.ts", "default": "b.js" }, "require": "c.cjs" });
        assert_eq!(resolve(&nested), Some("b.js"));
        assert_eq!(resolve(&Value::Null), None);
    }
}
