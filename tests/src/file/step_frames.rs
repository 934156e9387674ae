//! The names of frames that clients send.

/// As in `sent` and in traces.
pub(crate) const FRAMES: [&str; 12] = [
    "hello", "beat", "watch", "unwatch", "mode", "note", "idle", "active", "closing", "bye",
    "join", "leave",
];
