//! What apps choose of how their users appear.

use greendot_protocol::Mode;

use super::device::Device;
use super::{Found, Kind, Oracle};

/// A choice that no node has read yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    mode: Mode,
    at: u64,
}

impl Device {
    /// Its app chooses. What the page has been told already it need not say.
    pub(super) fn chooses(&mut self, now: u64, mode: Mode) {
        let is_known = self.chosen.is_none() && self.mode == Some(mode);
        self.chosen = (!is_known).then_some(Choice { mode, at: now });
    }
}

impl Oracle<'_> {
    /// A node has read this choice over a connection that spoke for its session.
    pub(super) fn choice_is_read(&mut self, conn: usize, mode: Mode) {
        if let Some(device) = self.conns[conn].device {
            self.devices[device].chosen.take_if(|it| it.mode == mode);
        }
    }

    /// At quiet no choice of a live page is lost: it says it until a node has heard it (rule 5).
    pub(super) fn choice_is_heard(&self, device: &Device) -> Found {
        let Some(choice) = device.chosen else { return Ok(()) };
        let user = device.conn.and_then(|it| self.conns[it].user).map(|it| &self.users[it]);
        let Some(user) = user.filter(|it| !it.murky && it.was_chosen_by(choice.at)) else {
            return Ok(());
        };
        if user.mode == choice.mode {
            return Ok(());
        }
        let (mode, name) = (choice.mode.name(), &device.name);
        let text = format!("{name} chose {mode}, and no node was told; it is {}", user.mode.name());
        self.complain(Kind::WrongMode, text)
    }
}
