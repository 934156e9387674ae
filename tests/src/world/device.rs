//! Devices: the driver around the shipped client core, and the browser and machine around that.

use super::conn::Down;
use super::{NotBuilt, World};
use crate::file::Verb;

/// A device with one page.
#[derive(Debug)]
pub struct Device {
    pub(super) name: String,
}

impl Device {
    pub fn view(&self, _user: &str) -> (greendot_protocol::State, u32) {
        todo!()
    }
    pub fn link(&self) -> (&'static str, u16) {
        todo!()
    }
    pub fn is_stale(&self) -> bool {
        todo!()
    }
    pub fn ago(&self, _now: u64, _user: &str) -> Option<u64> {
        todo!()
    }
    pub fn left_behind(&self) -> usize {
        0
    }
    pub fn timers(&self) -> usize {
        0
    }
    pub(super) fn is_cut_off(&self) -> bool {
        false
    }
    pub(super) fn answers_pings(&self) -> bool {
        true
    }
    pub(super) fn takes_frames(&self) -> bool {
        true
    }
}

impl World<'_> {
    pub(super) fn next_device(&self) -> (u64, usize) {
        (u64::MAX, 0)
    }
    pub(super) fn device_timer(&mut self, _device: usize) {}
    pub(super) fn device_takes(&mut self, _device: usize, _dial: u32, _conn: usize, _down: Down) {}
    pub(super) fn device_input(&mut self, _device: usize) {}
    pub(super) fn device_step(&mut self, verb: &Verb) -> Result<(), NotBuilt> {
        Err(NotBuilt(format!("{verb:?}")))
    }
}
