//! What a client has a page do.

use greendot_protocol::binary::encode_client;

use super::Face;
use crate::core::Output;

impl Face {
    /// The kind of what has to be done next, whose numbers and bytes are [told](Face::told) until the next call; 0: nothing.
    pub fn poll(&mut self, client: u32) -> u32 {
        let Some(Some(client)) = self.clients.get_mut(client as usize) else { return 0 };
        let Some(output) = client.poll_output() else { return 0 };
        let (kind, numbers) = match &output {
            Output::Changed { part, row } => (CHANGED, [part.0, row.0, 0]),
            Output::Room(room) => (ROOM, [room.0, 0, 0]),
            Output::NeedToken { dial } => (NEED_TOKEN, [dial.0, 0, 0]),
            Output::Dial { dial, node } => (DIAL, [dial.0, *node, 0]),
            Output::Send { dial, .. } => (SEND, [dial.0, 0, 0]),
            Output::CloseSocket { dial, code } => (CLOSE, [dial.0, u32::from(*code), 0]),
            Output::Link { state, why, retry } => {
                let retry = retry.map_or(u32::MAX, |it| it.as_millis() as u32);
                (LINK, [*state as u32, u32::from(*why), retry])
            }
            Output::Stale(is) => (STALE, [u32::from(*is), 0, 0]),
            Output::Mode { mode, revision } => (MODE, [*mode as u32, revision.0, 0]),
            Output::Beacon { node, .. } => (BEACON, [*node, 0, 0]),
            Output::Error { code, about, .. } => (ERROR, [*code as u32, *about, 0]),
        };
        self.told.tell(numbers, |out| match &output {
            Output::Send { frame, .. } => encode_client(&frame.as_frame(), out),
            Output::Beacon { ticket: text, .. } | Output::Error { text, .. } => {
                out.extend_from_slice(text.as_bytes());
            }
            _ => {}
        });
        kind
    }
}

// The kinds, each with its numbers and bytes.
/// The part and the row.
const CHANGED: u32 = 1;
/// The room's number.
const ROOM: u32 = 2;
/// The dial.
const NEED_TOKEN: u32 = 3;
/// The dial and the node.
const DIAL: u32 = 4;
/// The dial; the frame.
const SEND: u32 = 5;
/// The dial and the close code.
const CLOSE: u32 = 6;
/// The state, the close code that led to it or 0, and while it waits the milliseconds until the next dial, else all ones.
const LINK: u32 = 7;
/// 1: views may be old; 0: they are good.
const STALE: u32 = 8;
/// The mode's number, and the number of its choice.
const MODE: u32 = 9;
/// The node; the ticket.
const BEACON: u32 = 10;
/// The error's number and what it is about; a text for people.
const ERROR: u32 = 11;
