//! `cargo xtask size`: the bytes of what a page loads.
//!
//! A page loads the wasm module and, minified inside its own bundle, the package's JavaScript. esbuild plays the page's
//! bundler; a framework that the page has anyway is left out. What may be loaded is limited, by [`LIMITS`].

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::run::npm_bin;
use crate::table::{self, grouped};
use crate::{npm, paths, wire};

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Measure what goes over the wire, beside what peers send for the same content
    #[arg(long)]
    wire: bool,

    /// Write the figures to this file, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What is measured: pages that import these entries, as package.json exports them. A framework's page makes its client
/// with the first.
const PAGES: &[(&str, &[&str])] = &[
    ("greendot", &["."]),
    ("greendot/react", &[".", "./react"]),
    ("greendot/vue", &[".", "./vue"]),
    ("greendot/svelte", &[".", "./svelte"]),
    ("greendot/element", &[".", "./element"]),
];

/// What pages may load, in bytes of `gzip -9`, which every server can send. Whoever raises one says here why.
const LIMITS: &[Limit] = &[
    // What npm/README.md promises. What few pages use goes into a part of its own (`LATER`) rather than over it.
    Limit { entry: "greendot", most: 20_000, wasm: 12_085, script: 7_873 },
    // Beside the first entry: a binding holds nothing but what its framework wants otherwise.
    Limit { entry: "greendot/react", most: 1_000, wasm: 0, script: 646 },
    Limit { entry: "greendot/vue", most: 1_000, wasm: 0, script: 649 },
    Limit { entry: "greendot/svelte", most: 1_000, wasm: 0, script: 509 },
    // With the styles of its dot.
    Limit { entry: "greendot/element", most: 2_000, wasm: 0, script: 1_569 },
];

/// What a page may load of an entry: all of it for the first, for the others what they add to that.
struct Limit {
    entry: &'static str,
    most: usize,
    /// What it was when the limit was set, so that it can be said what has grown.
    wasm: usize,
    script: usize,
}

/// Parts of the package that a page loads when it comes to that, if ever.
const LATER: [&str; 3] = ["debug", "own", "poll"];

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
    println!("\n{}\ngreendot/…: a framework's page, which imports greendot, too", table(&pages));
    for part in LATER {
        let file = paths::npm().join(format!("dist/{part}.js"));
        let small = paths::scratch().join(format!("size/{part}.min.js"));
        let size = Size::of(&minified(&file, &small)?)?;
        println!("{part}.js, when it comes to that: {} bytes (gzip)", grouped(size.gzip));
    }
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&json(&pages))? + "\n";
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let over = over(&pages, LIMITS);
    if over.is_empty() { Ok(()) } else { bail!("a page loads too much: {}", over.join("; ")) }
}

/// What is over its limit, in words, with what has grown.
fn over(pages: &[Page], limits: &[Limit]) -> Vec<String> {
    let Some(base) = pages.first() else { return Vec::new() };
    let told = |limit: &Limit| {
        let page = pages.iter().find(|it| it.entry == limit.entry)?;
        let (mut wasm, mut script) = (page.wasm.gzip, page.script.gzip);
        if page.entry != base.entry {
            (wasm, script) = (0, script.saturating_sub(base.script.gzip));
        }
        let (all, most) = (wasm + script, limit.most);
        let grown = [("the wasm file", wasm, limit.wasm), ("the script", script, limit.script)]
            .into_iter()
            .filter(|(_, now, was)| now > was)
            .map(|(what, now, was)| format!("{what} by {} to {}", grouped(now - was), grouped(now)))
            .collect::<Vec<_>>()
            .join(", ");
        (all > most).then(|| {
            let entry = limit.entry;
            let (all, most) = (grouped(all), grouped(most));
            format!("{entry} has {all} bytes (gzip), the limit is {most}; grown have {grown}")
        })
    };
    limits.iter().filter_map(told).collect()
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
    let mut imports = String::new();
    for export in exports {
        let entry = resolve(&package["exports"][export])
            .with_context(|| format!("npm/package.json exports no {export:?} for browsers"))?;
        imports += &format!("export * from {};\n", json!(paths::npm().join(entry)));
    }
    let name = exports.last().unwrap_or(&".").trim_start_matches("./").replace('.', "core");
    let folder = paths::scratch().join("size");
    fs::create_dir_all(&folder)?;
    let page = folder.join(format!("page-{name}.js"));
    fs::write(&page, imports)?;
    minified(&page, &page.with_extension("min.js"))
}

/// A script and what it imports, as a page's bundler would make it small.
fn minified(script: &Path, into: &Path) -> Result<Vec<u8>> {
    let mut esbuild =
        npm_bin("esbuild", "--bundle --minify --format=esm --target=es2022 --log-level=warning")
            .arg(script)
            .arg(format!("--outfile={}", into.display()));
    for part in LATER {
        esbuild = esbuild.arg(format!("--external:*/{part}.js"));
    }
    for peer in npm::package_json()?["peerDependencies"].as_object().into_iter().flatten() {
        esbuild =
            esbuild.arg(format!("--external:{}", peer.0)).arg(format!("--external:{}/*", peer.0));
    }
    esbuild.quiet().run()?;
    fs::read(into).with_context(|| format!("esbuild left no {}", into.display()))
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
    fn what_is_over_its_limit_is_named_with_what_has_grown() {
        let size = |gzip| Size { raw: gzip, gzip, brotli: gzip };
        let page = |entry, script| Page { entry, wasm: size(600), script: size(script) };
        let limits = [
            Limit { entry: "greendot", most: 1_000, wasm: 600, script: 390 },
            Limit { entry: "greendot/react", most: 100, wasm: 0, script: 90 },
        ];
        assert_eq!(over(&[page("greendot", 400), page("greendot/react", 500)], &limits), [""; 0]);
        assert_eq!(
            over(&[page("greendot", 401), page("greendot/react", 502)], &limits),
            [
                "greendot has 1,001 bytes (gzip), the limit is 1,000; grown have the script by 11 to 401",
                "greendot/react has 101 bytes (gzip), the limit is 100; grown have the script by 11 to 101",
            ]
        );
    }

    #[test]
    fn every_page_has_a_limit() {
        let limited: Vec<_> = LIMITS.iter().map(|it| it.entry).collect();
        assert_eq!(limited, PAGES.iter().map(|it| it.0).collect::<Vec<_>>());
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
