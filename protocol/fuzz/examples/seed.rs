//! Fills `corpus/` with the golden files' vectors, so that a fuzzer starts from real frames.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Vector {
    name: String,
    bin: Option<String>,
    text: Option<String>,
    json: Option<Box<RawValue>>,
}

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in ["frames.jsonl", "lenient.jsonl", "hostile.jsonl"] {
        let lines = fs::read_to_string(here.join("../vectors/v1").join(file)).expect(file);
        for line in lines.lines() {
            let vector: Vector = serde_json::from_str(line).expect(line);
            let text = vector.text.or(vector.json.map(|it| it.get().into()));
            let seeds = [
                ("binary", vector.bin.map(|it| bytes(&it))),
                ("json", text.map(String::into_bytes)),
            ];
            for (encoding, seed) in seeds {
                let Some(seed) = seed else { continue };
                for target in [encoding.to_string(), format!("{encoding}_again")] {
                    let corpus = here.join("corpus").join(target);
                    fs::create_dir_all(&corpus).expect("a folder for the corpus");
                    fs::write(corpus.join(&vector.name), &seed).expect("a seed");
                }
            }
        }
    }
}

fn bytes(digits: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect(digits);
    (0..digits.len()).step_by(2).map(byte).collect()
}
