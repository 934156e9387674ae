//! A vector that has been published stays as it is: `checksums.txt` has the SHA-256 of each line.
//! Until version 1.0 they may still change, by `GREENDOT_BLESS=1 cargo test -p greendot-protocol
//! --all-features --test vectors`; later only lines for new vectors may come.

use std::fmt::Write as _;
use std::{env, fs};

use sha2::{Digest, Sha256};

use crate::file::{ALL, Vector, lines, path};

const FILE: &str = "checksums.txt";

#[test]
fn no_vector_has_changed() {
    let mut sums = String::new();
    for line in ALL.into_iter().flat_map(lines) {
        let vector: Vector = serde_json::from_str(&line).expect(&line);
        for byte in Sha256::digest(&line) {
            write!(sums, "{byte:02x}").expect("a string takes it");
        }
        writeln!(sums, "  {}", vector.name).expect("a string takes it");
    }
    if env::var_os("GREENDOT_BLESS").is_some() {
        fs::write(path(FILE), &sums).expect("the list can be written");
    }
    let listed = fs::read_to_string(path(FILE)).unwrap_or_default();
    let missing: Vec<_> = sums.lines().filter(|it| !listed.lines().any(|old| old == *it)).collect();
    assert!(missing.is_empty(), "changed or new vectors, not in {FILE}:\n{}", missing.join("\n"));
    let gone: Vec<_> = listed.lines().filter(|it| !sums.lines().any(|new| new == *it)).collect();
    assert!(gone.is_empty(), "changed or lost vectors, still in {FILE}:\n{}", gone.join("\n"));
}
