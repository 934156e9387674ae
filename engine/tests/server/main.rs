//! The server over real sockets.

mod app;
mod audience;
mod auth;
mod bad_input;
mod beacon;
mod binary;
mod churn;
mod common;
mod floods;
mod json;
mod jwt;
mod limits;
mod metrics;
mod poll;
mod ready;
mod running;
mod secrecy;
mod sessions;
mod slow;
mod vectors;
