//! What a page may load, in bytes of `gzip -9`, which every server can send.
//!
//! Whoever raises a limit says here why. What few pages use goes into a part of its own that is loaded later, rather than
//! over it.

use anyhow::{Context as _, Result, ensure};

use crate::table::grouped;

/// The page of the first entry: all of it, and its two parts.
pub(crate) const PAGE: &str = "a page";
pub(crate) const WASM: &str = "the wasm file";
pub(crate) const SCRIPT: &str = "the script";

/// The limits, and why. An entry's is for itself, without what a page has of the first one anyway.
const LIMITS: &[(&str, usize)] = &[
    // What npm/README.md promises: "What it weighs". In KB of 1,000 bytes, as packages are compared by.
    (PAGE, 20_000),
    // A binding holds what its framework wants otherwise, and nothing else.
    ("./react", KB),
    ("./vue", KB),
    ("./svelte", KB),
    // With the styles of its dot.
    ("./element", 2 * KB),
];

const KB: usize = 1_024;

/// What each had when its limit was set: so that it can be said what has grown.
const BEFORE: &[(&str, usize)] = &[(WASM, 12_615), (SCRIPT, 7_367)];

/// Fails if anything is over its limit, and names what has grown.
pub(crate) fn hold(weighed: &[(&str, usize)]) -> Result<()> {
    let weight = |name: &str| {
        let found = weighed.iter().find(|it| it.0 == name);
        found.map(|it| it.1).with_context(|| format!("nobody has weighed {name}"))
    };
    for &(name, most) in LIMITS {
        let now = weight(name)?;
        let mut grown = Vec::new();
        for &(part, before) in BEFORE.iter().filter(|_| name == PAGE) {
            let now = weight(part)?;
            if now > before {
                grown.push(format!(
                    "; {part} has grown by {} to {}",
                    grouped(now - before),
                    grouped(now)
                ));
            }
        }
        ensure!(
            now <= most,
            "{name} has {} bytes of gzip, and may have {}{}",
            grouped(now),
            grouped(most),
            grown.concat()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighed(wasm: usize, script: usize, react: usize) -> Result<()> {
        let entries = [("./react", react), ("./vue", 0), ("./svelte", 0), ("./element", 0)];
        let page = [(PAGE, wasm + script), (WASM, wasm), (SCRIPT, script)];
        hold(&[&entries[..], &page].concat())
    }

    #[test]
    fn what_is_over_its_limit_is_named_with_what_has_grown() {
        assert!(weighed(12_615, 7_385, 1_024).is_ok());
        let told = weighed(13_115, 7_300, 1_024).unwrap_err().to_string();
        assert_eq!(
            told,
            "a page has 20,415 bytes of gzip, and may have 20,000; the wasm file has grown by 500 to 13,115"
        );
        let told = weighed(12_000, 7_000, 1_025).unwrap_err().to_string();
        assert_eq!(told, "./react has 1,025 bytes of gzip, and may have 1,024");
        assert!(hold(&[]).is_err(), "what is not weighed is not within its limit");
    }
}
