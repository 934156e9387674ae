//! What the tests of both encodings share.

pub(crate) mod frames;
