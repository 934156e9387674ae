//! The npm package's declarations of the JSON frames are those made from the Rust types.

use std::path::Path;
use std::{env, fs};

use greendot_protocol::typescript;

#[test]
fn the_packages_declarations_are_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../npm/src/protocol.ts");
    let module = typescript::module();
    if env::var_os("GREENDOT_BLESS").is_some() {
        fs::write(&file, &module).expect("npm/src can be written");
    }
    let there = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        there == module,
        "npm/src/protocol.ts is stale; write it anew with\n    GREENDOT_BLESS=1 cargo test -p \
         greendot-protocol --all-features --test typescript"
    );
}
