//! Servers that share their users through a real Redis: `redis-server` on loopback, started here.

mod checks;

#[path = "../server/common.rs"]
#[allow(dead_code, reason = "the same rig as that of the server alone, which uses more of it")]
mod common;
mod conformance;
mod faults;
mod isolation;
mod machine;
mod moving;
mod nodes;
mod people;
#[path = "../core/register.rs"]
mod register;
mod rig;
mod together;
mod wire;
