//! The bytes of a file as text.

use super::FileError;

const UTF8_MARK: &[u8] = &[0xEF, 0xBB, 0xBF];
const UTF16_MARKS: [&[u8]; 2] = [&[0xFF, 0xFE], &[0xFE, 0xFF]];

/// Reads UTF-8, as JSON is written.
///
/// # Errors
///
/// At the first byte that is none, or at the mark of another encoding.
pub fn decode(bytes: &[u8]) -> Result<&str, FileError> {
    let wrong = |line, text: &str| Err(FileError { line, text: text.into() });
    if UTF16_MARKS.iter().any(|it| bytes.starts_with(it)) {
        return wrong(1, "this is UTF-16; save it as UTF-8");
    }
    if bytes.starts_with(UTF8_MARK) {
        return wrong(1, "a byte order mark stands before the text; save it as UTF-8 without one");
    }
    let line_at = |end: usize| 1 + bytes[..end].iter().filter(|&&it| it == b'\n').count();
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            let at = error.valid_up_to();
            let text = format!("byte {:#04x} is no UTF-8 here; save the file as UTF-8", bytes[at]);
            wrong(line_at(at), &text)
        }
    }
}
