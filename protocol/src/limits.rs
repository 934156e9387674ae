//! Limits on everything a peer controls. Both ends check them; the engine answers what breaks one
//! with an error or a close code, as noted.

/// Longest user name, in bytes of UTF-8. Longer: the token is refused (`bad_token`) or the watch
/// is answered with an error.
pub const USER_BYTES: usize = 128;

/// Longest session id, in bytes of UTF-8; at least one. Otherwise: closed with `bad_session`.
pub const SESSION_BYTES: usize = 64;

/// Longest note, in bytes of UTF-8. Longer: answered with an error, the old note stays.
pub const NOTE_BYTES: usize = 256;

/// Longest room id, in bytes of UTF-8; at least one. Otherwise: answered with an error, not joined.
pub const ROOM_BYTES: usize = 128;

/// Rooms that one session may be in at a time. One more: answered with an error, not joined.
pub const ROOMS: usize = 32;

/// Longest device label, in bytes of UTF-8. Longer: cut.
pub const DEVICE_BYTES: usize = 64;

/// Longest body of a poll, in bytes: a name of the greatest length, and its part of the mark, for
/// each of as many users as one may watch.
pub const POLL_BYTES: usize = 256 * 1024;

/// Longest token, in bytes. Longer: closed with `bad_token`.
pub const TOKEN_BYTES: usize = 8 * 1024;

/// Users that one connection may watch at a time. One more: answered with an error, not watched.
pub const WATCHES: usize = 1_000;

/// Largest frame from a client, in bytes. Larger: closed with `too_large`. Clients split a watch
/// of many users into several frames.
pub const CLIENT_FRAME_BYTES: usize = 32 * 1024;

/// Largest frame from a server, in bytes: a snapshot of [`WATCHES`] users with the longest notes,
/// and then some.
pub const SERVER_FRAME_BYTES: usize = 512 * 1024;

/// The same in JSON, where each byte of a note may take six.
pub const SERVER_JSON_BYTES: usize = 2 * 1024 * 1024;

/// Longest explanation in an error frame, in bytes of UTF-8.
pub const TEXT_BYTES: usize = 256;

/// Longest ticket (the right to send `closing` by a beacon), in bytes.
pub const TICKET_BYTES: usize = 64;

/// The longest age of the last input that a beat can tell, in seconds: what fits two bytes on the
/// wire, some 4.5 hours. Longer ages are told as this one.
pub const INPUT_AGE_SECS: u32 = (1 << 14) - 2;
