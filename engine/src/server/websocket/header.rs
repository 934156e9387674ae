//! The header of a frame.

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

/// The header of a frame that a client sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) last: bool,
    pub(super) opcode: Opcode,
    pub(super) mask: [u8; 4],
    /// Bytes of the header.
    pub(super) size: usize,
    /// Bytes of the payload.
    pub(super) length: u64,
}

/// The most that a control frame carries.
pub(super) const CONTROL_BYTES: u64 = 125;

const LAST: u8 = 0x80;
const MASKED: u8 = 0x80;

impl Opcode {
    fn of(bits: u8) -> Option<Self> {
        Some(match bits {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return None,
        })
    }

    fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0,
            Self::Text => 1,
            Self::Binary => 2,
            Self::Close => 8,
            Self::Ping => 9,
            Self::Pong => 10,
        }
    }

    pub(super) fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

impl Header {
    /// Reads a header. `Ok(None)`: there is more to come.
    ///
    /// # Errors
    ///
    /// If it is none that a client may send.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Self>, super::Fault> {
        use super::Fault::Malformed;
        let &[first, second, ..] = bytes else { return Ok(None) };
        // No extension is spoken here that would give the reserved bits a meaning.
        if first & 0x70 != 0 {
            return Err(Malformed);
        }
        let opcode = Opcode::of(first & 0x0f).ok_or(Malformed)?;
        let last = first & LAST != 0;
        if second & MASKED == 0 {
            return Err(Malformed);
        }
        let (length, extra) = match second & 0x7f {
            126 => {
                let Some(bytes) = bytes.get(2..4).and_then(|it| it.try_into().ok()) else {
                    return Ok(None);
                };
                (u64::from(u16::from_be_bytes(bytes)), 2)
            }
            127 => {
                let Some(bytes) = bytes.get(2..10).and_then(|it| it.try_into().ok()) else {
                    return Ok(None);
                };
                (u64::from_be_bytes(bytes), 8)
            }
            short => (u64::from(short), 0),
        };
        if opcode.is_control() && (!last || length > CONTROL_BYTES) {
            return Err(Malformed);
        }
        let size = 2 + extra + 4;
        let Some(mask) = bytes.get(size - 4..size).and_then(|it| it.try_into().ok()) else {
            return Ok(None);
        };
        Ok(Some(Self { last, opcode, mask, size, length }))
    }
}

/// Appends a whole message as one frame, as a server sends it: not masked.
pub(in crate::server) fn write(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    compose(out, opcode, |out| out.extend_from_slice(payload));
}

/// The same of a message that is made in its place.
pub(in crate::server) fn compose(
    out: &mut Vec<u8>,
    opcode: Opcode,
    make: impl FnOnce(&mut Vec<u8>),
) {
    let begin = out.len();
    // Room for the shortest header: most messages are short.
    out.extend_from_slice(&[LAST | opcode.bits(), 0]);
    make(out);
    let length = out.len() - begin - 2;
    out[begin + 1] = match length {
        short @ 0..126 => short as u8,
        middle @ 126..0x1_0000 => {
            out.splice(begin + 2..begin + 2, (middle as u16).to_be_bytes());
            126
        }
        long => {
            out.splice(begin + 2..begin + 2, (long as u64).to_be_bytes());
            127
        }
    };
}
