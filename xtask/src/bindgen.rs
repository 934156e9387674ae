//! The two programs of wasm-bindgen-cli, called as a library so that nobody has to install them.

use std::ffi::OsString;
use std::iter;

use anyhow::Result;

/// `wasm-bindgen ARGS`: writes the JavaScript glue for a compiled module.
pub(crate) fn bindgen(args: impl IntoIterator<Item = OsString>) -> Result<()> {
    wasm_bindgen_cli::wasm_bindgen::run_cli_with_args(with_name("wasm-bindgen", args))
}

/// `wasm-bindgen-test-runner ARGS`: what `.cargo/config.toml` names as the runner of wasm tests.
pub(crate) fn test_runner(args: impl IntoIterator<Item = OsString>) -> Result<()> {
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(with_name(
        "wasm-bindgen-test-runner",
        args,
    ))
}

fn with_name(
    name: &str,
    args: impl IntoIterator<Item = OsString>,
) -> impl Iterator<Item = OsString> {
    iter::once(OsString::from(name)).chain(args)
}
