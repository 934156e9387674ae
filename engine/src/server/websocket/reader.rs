//! From bytes, as they come in, to messages.

use super::Opcode;
use super::header::Header;

/// A message, or a part of one, that a client sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::server) enum Message {
    Text(Vec<u8>),
    Binary(Vec<u8>),
    /// To be answered with a pong of the same payload.
    Ping(Vec<u8>),
    Pong,
    /// Its number, if it says one.
    Close(Option<u16>),
    /// A fragment that is not the last: nothing to act on yet, but it counts against the sender's rate.
    Part,
}

/// Why nothing more can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum Fault {
    /// The bytes are no WebSocket frames that a client may send.
    Malformed,
    /// A message larger than the limit.
    TooLarge,
}

/// Reads messages. Between two of them it holds no memory but its own few bytes.
#[derive(Debug)]
pub(in crate::server) struct Reader {
    /// Bytes not read yet.
    buffer: Vec<u8>,
    /// Where in the buffer the next frame begins.
    at: usize,
    /// A message whose last fragment has not come.
    parts: Option<Box<Parts>>,
    /// The most that a message may have, in bytes.
    limit: usize,
}

#[derive(Debug)]
struct Parts {
    is_text: bool,
    payload: Vec<u8>,
}

impl Reader {
    pub(in crate::server) fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), at: 0, parts: None, limit }
    }

    /// Takes bytes that have come in.
    pub(in crate::server) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next message, or part of one, if it has come in whole.
    ///
    /// # Errors
    ///
    /// If there will never be one again.
    pub(in crate::server) fn next(&mut self) -> Result<Option<Message>, Fault> {
        let rest = self.buffer.get(self.at..).unwrap_or_default();
        let Some(header) = Header::read(rest)? else {
            self.tidy();
            return Ok(None);
        };
        let parts = self.parts.as_ref().filter(|_| !header.opcode.is_control());
        let before = parts.map_or(0, |it| it.payload.len());
        // Before a byte of it is waited for.
        if header.length > (self.limit - before) as u64 {
            return Err(Fault::TooLarge);
        }
        let length = header.length as usize;
        if rest.len() < header.size + length {
            self.tidy();
            return Ok(None);
        }
        let begin = self.at + header.size;
        let mut payload = self.buffer[begin..begin + length].to_vec();
        unmask(&mut payload, header.mask);
        self.at = begin + length;
        if self.at == self.buffer.len() {
            (self.buffer, self.at) = (Vec::new(), 0);
        }
        self.message(header, payload).map(Some)
    }

    fn message(&mut self, header: Header, payload: Vec<u8>) -> Result<Message, Fault> {
        match header.opcode {
            Opcode::Ping => Ok(Message::Ping(payload)),
            Opcode::Pong => Ok(Message::Pong),
            Opcode::Close => match *payload {
                [] => Ok(Message::Close(None)),
                [_] => Err(Fault::Malformed),
                [high, low, ..] => Ok(Message::Close(Some(u16::from_be_bytes([high, low])))),
            },
            Opcode::Text | Opcode::Binary => {
                if self.parts.is_some() {
                    return Err(Fault::Malformed);
                }
                let is_text = header.opcode == Opcode::Text;
                self.part(header.last, Parts { is_text, payload })
            }
            Opcode::Continuation => {
                let mut parts = *self.parts.take().ok_or(Fault::Malformed)?;
                parts.payload.extend_from_slice(&payload);
                self.part(header.last, parts)
            }
        }
    }

    fn part(&mut self, last: bool, parts: Parts) -> Result<Message, Fault> {
        if !last {
            self.parts = Some(Box::new(parts));
            return Ok(Message::Part);
        }
        let Parts { is_text, payload } = parts;
        Ok(if is_text { Message::Text(payload) } else { Message::Binary(payload) })
    }

    /// What has been read makes room for what is to come.
    fn tidy(&mut self) {
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
    }
}

fn unmask(payload: &mut [u8], mask: [u8; 4]) {
    let (words, rest) = payload.as_chunks_mut::<4>();
    for word in words {
        *word = (u32::from_ne_bytes(*word) ^ u32::from_ne_bytes(mask)).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::write;
    use super::*;

    const LIMIT: usize = 1_000;

    /// A frame as a client sends it.
    fn sent(first: u8, mask: [u8; 4], payload: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        write(&mut plain, Opcode::Binary, payload);
        let size = plain.len() - payload.len();
        let mut masked = payload.to_vec();
        unmask(&mut masked, mask);
        let mut bytes = vec![first, plain[1] | 0x80];
        bytes.extend_from_slice(&plain[2..size]);
        bytes.extend_from_slice(&mask);
        bytes.extend_from_slice(&masked);
        bytes
    }

    fn read_all(chunks: &[&[u8]]) -> Result<Vec<Message>, Fault> {
        let mut reader = Reader::new(LIMIT);
        let mut messages = Vec::new();
        for chunk in chunks {
            reader.feed(chunk);
            while let Some(message) = reader.next()? {
                messages.push(message);
            }
        }
        Ok(messages)
    }

    const BINARY: u8 = 0x82;
    const MASK: [u8; 4] = [1, 2, 3, 4];

    #[test]
    fn a_message_in_fragments_is_one_and_a_ping_may_come_between() {
        let bytes = [
            sent(0x01, MASK, b"he"),
            sent(0x89, MASK, b"you there?"),
            sent(0x00, MASK, b""),
            sent(0x80, MASK, b"llo"),
        ]
        .concat();
        let messages = read_all(&[&bytes]).unwrap();
        let ping = Message::Ping(b"you there?".to_vec());
        let text = Message::Text(b"hello".to_vec());
        assert_eq!(messages, [Message::Part, ping, Message::Part, text]);
    }

    #[test]
    fn what_no_client_may_send_is_malformed() {
        let mut unmasked = Vec::new();
        write(&mut unmasked, Opcode::Binary, b"hello");
        let long_ping = sent(0x89, MASK, &[0; 126]);
        let fragments = [sent(0x02, MASK, b"a"), sent(0x02, MASK, b"b")].concat();
        for bytes in [
            &unmasked[..],
            &long_ping,
            &fragments,
            // A continuation of nothing, a ping in fragments, a reserved bit, a reserved opcode, half a close number.
            &sent(0x80, MASK, b"a"),
            &sent(0x09, MASK, b""),
            &sent(0xc2, MASK, b"a"),
            &sent(0x83, MASK, b"a"),
            &sent(0x88, MASK, b"a"),
            &[0xff; 32],
        ] {
            assert_eq!(read_all(&[bytes]), Err(Fault::Malformed), "{bytes:02x?}");
        }
    }

    #[test]
    fn what_is_too_large_is_refused_before_it_comes() {
        let whole = sent(BINARY, MASK, &[0; LIMIT]);
        assert_eq!(read_all(&[&whole]).unwrap(), [Message::Binary(vec![0; LIMIT])]);
        let header = &sent(BINARY, MASK, &[0; LIMIT + 1])[..8];
        assert_eq!(read_all(&[header]), Err(Fault::TooLarge));
        let huge = [0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4];
        assert_eq!(read_all(&[&huge]), Err(Fault::TooLarge));
        let parts = [sent(0x02, MASK, &[0; LIMIT]), sent(0x80, MASK, b"a")].concat();
        assert_eq!(read_all(&[&parts]), Err(Fault::TooLarge));
    }

    #[test]
    fn between_two_messages_nothing_is_held() {
        let mut reader = Reader::new(LIMIT);
        reader.feed(&sent(BINARY, MASK, &[7; 900]));
        assert!(reader.next().unwrap().is_some());
        assert_eq!(reader.buffer.capacity(), 0);
    }

    proptest! {
        #[test]
        fn what_was_sent_is_read_however_it_is_cut(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 1..5),
            mask in any::<[u8; 4]>(),
            cuts in prop::collection::vec(1usize..50, 1..100),
        ) {
            let bytes: Vec<u8> = payloads.iter().flat_map(|it| sent(BINARY, mask, it)).collect();
            let mut chunks = Vec::new();
            let mut rest = &bytes[..];
            for cut in cuts {
                let (chunk, more) = rest.split_at(cut.min(rest.len()));
                chunks.push(chunk);
                rest = more;
            }
            chunks.push(rest);
            let wanted: Vec<Message> = payloads.into_iter().map(Message::Binary).collect();
            prop_assert_eq!(read_all(&chunks), Ok(wanted));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read_all(&[&bytes]);
        }
    }
}
