//! Bytes as text: hexadecimal, in lower case.

/// The digits of a byte.
fn digits(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

pub(super) fn write(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|it| digits(*it)).map(char::from).collect()
}

/// None if it is no text that [`write`] wrote.
pub(super) fn read(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks();
    let byte = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
    rest.is_empty().then(|| pairs.iter().map(byte).collect()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(read(&write(&bytes)), Some(bytes));
        assert_eq!(write(&[0, 0xaf, 9]), "00af09");
        for wrong in ["0", "0g", "0A", "é", "+1", " 1"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
