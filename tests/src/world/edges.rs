//! What can be seen from outside: at the edges of nodes and clients.
//!
//! An oracle that knows only the rules must not look into the cores. It is shown what crosses
//! their edges, in order: which frame reached which node when, what a node sent, what an app was
//! told. Nothing is recorded unless asked for.

use greendot_client::core::LinkState;
use greendot_protocol::State;

use super::World;

/// A stretch of the record's bytes: a frame or a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    from: u32,
    to: u32,
}

/// Something that crossed an edge. All of one turn happened at [`World::now`].
#[derive(Clone, Copy, Debug)]
pub enum Edge {
    /// The script's step of this index begins.
    Step(usize),
    /// A client's end opens a connection.
    Dialled {
        /// The connection.
        conn: usize,
    },
    /// A frame reached a node that stands still, and waits there.
    FrameWaits {
        /// The connection.
        conn: usize,
        /// The frame.
        bytes: Bytes,
    },
    /// A pong reached a node that stands still, and waits there.
    PongWaits {
        /// The connection.
        conn: usize,
    },
    /// A connection's end reached a node that stands still, and waits there.
    EndWaits {
        /// The connection.
        conn: usize,
    },
    /// A node reads a frame.
    Frame {
        /// The connection.
        conn: usize,
        /// The frame.
        bytes: Bytes,
    },
    /// A node reads a pong.
    Pong {
        /// The connection.
        conn: usize,
    },
    /// The hello that was read was taken.
    Taken {
        /// The connection.
        conn: usize,
    },
    /// A node turned a connection away before it had a session.
    Refused {
        /// The connection.
        conn: usize,
        /// The close code.
        code: u16,
    },
    /// A node sees a connection end.
    Ended {
        /// The connection.
        conn: usize,
    },
    /// A node closes a connection.
    Closes {
        /// The connection.
        conn: usize,
        /// The close code.
        code: u16,
    },
    /// A node sends a frame.
    Sent {
        /// The connection.
        conn: usize,
        /// The frame.
        bytes: Bytes,
    },
    /// A frame reaches a client core.
    Got {
        /// The connection.
        conn: usize,
        /// Whether it was lost on the last step instead (the script's `lose_answers`).
        lost: bool,
    },
    /// A node's application is told that a user changed.
    Turned {
        /// The node.
        node: usize,
        /// The user's name.
        user: Bytes,
        /// The state that others see.
        state: State,
        /// The version.
        version: u32,
        /// The note.
        note: Bytes,
    },
    /// A client core is told that its connection has ended, or that there is none to be had.
    Lost {
        /// The connection.
        conn: usize,
        /// The close code that it is told.
        code: u16,
    },
    /// A client core sends a frame.
    Says {
        /// The device.
        device: usize,
        /// The connection, if it still has one.
        conn: Option<usize>,
        /// The beat's number, if it is one.
        beat: Option<u8>,
    },
    /// A part of an app is told of a change.
    Told {
        /// The device.
        device: usize,
        /// The part's number.
        part: u32,
        /// The user's name.
        user: Bytes,
        /// The state that the app sees now.
        state: State,
        /// The note that the app sees now.
        note: Bytes,
    },
    /// A node answers an ask; what it says of each user follows.
    Answered {
        /// The node.
        node: usize,
        /// The script's step.
        step: usize,
        /// Whether it speaks of all that were asked about.
        full: bool,
    },
    /// What the answer says of a user.
    AnswerOf {
        /// The user's name.
        user: Bytes,
        /// The state.
        state: State,
        /// The version.
        version: u32,
        /// When the user was last seen, in ms of the run.
        seen: Option<u64>,
        /// The note.
        note: Bytes,
    },
    /// A node says who is present; the names follow, each as [`Edge::Lists`].
    Listed {
        /// The node.
        node: usize,
        /// The script's step.
        step: usize,
    },
    /// A user in a list.
    Lists {
        /// The user's name.
        user: Bytes,
    },
    /// An app is told that a room looks otherwise.
    RoomTold {
        /// The device.
        device: usize,
    },
    /// An app is told the link's state.
    Link {
        /// The device.
        device: usize,
        /// The state.
        state: LinkState,
    },
}

/// The record since it was last cleared.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    seen: Vec<Edge>,
    bytes: Vec<u8>,
}

impl Edges {
    /// Whether no crossing is recorded.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// The crossings, in order.
    pub fn iter(&self) -> impl Iterator<Item = Edge> {
        self.seen.iter().copied()
    }

    /// The bytes of a frame or text.
    pub fn bytes(&self, range: Bytes) -> &[u8] {
        &self.bytes[range.from as usize..range.to as usize]
    }

    /// A text.
    pub fn text(&self, range: Bytes) -> &str {
        std::str::from_utf8(self.bytes(range)).unwrap_or_default()
    }

    /// Forgets what was recorded.
    pub fn clear(&mut self) {
        self.seen.clear();
        self.bytes.clear();
    }

    pub(super) fn add(&mut self, edge: Edge) {
        self.seen.push(edge);
    }

    pub(super) fn keep(&mut self, bytes: &[u8]) -> Bytes {
        let from = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        Bytes { from, to: self.bytes.len() as u32 }
    }
}

impl World<'_> {
    /// Records from now on what crosses the edges.
    pub fn record_edges(&mut self) {
        self.edges = Some(Edges::default());
    }

    /// What crossed the edges since the record was last taken; give it back with
    /// [`Self::return_edges`].
    pub fn take_edges(&mut self) -> Option<Edges> {
        self.edges.take()
    }

    /// Goes on recording, in the room of an earlier record.
    pub fn return_edges(&mut self, mut edges: Edges) {
        edges.clear();
        self.edges = Some(edges);
    }

    pub(super) fn edge(&mut self, edge: Edge) {
        if let Some(edges) = &mut self.edges {
            edges.add(edge);
        }
    }

    pub(super) fn edge_with(&mut self, bytes: &[u8], edge: impl FnOnce(Bytes) -> Edge) {
        if let Some(edges) = &mut self.edges {
            let bytes = edges.keep(bytes);
            edges.add(edge(bytes));
        }
    }
}
