//! The golden files in `vectors/v1`: what is in them is read and written just so, and nothing in
//! them changes unnoticed. Every fuzz crasher becomes one of them.

mod check;
mod checksums;
mod complete;
mod file;
