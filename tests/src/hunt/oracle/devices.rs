//! What reaches client cores, and what they do and say then.

use greendot_client::core::LinkState;
use greendot_protocol::{CloseCode, Retry, State};

use super::conn::{Parcel, Shown};
use super::{Found, Kind, Oracle};

/// How long the answer to a beat may take, in ms.
const ANSWER: u64 = 5_000;

impl Oracle<'_> {
    /// A frame reaches a client core.
    pub(super) fn got(&mut self, conn: usize, lost: bool) {
        let now = self.now;
        let Some(parcel) = self.conns[conn].on_the_way.pop_front() else { return };
        let Some(device) = self.conns[conn].device.filter(|_| !lost) else { return };
        let device = &mut self.devices[device];
        if device.conn != Some(conn) {
            return;
        }
        if device.link == LinkState::Live {
            device.is_good_at(now);
        }
        match parcel {
            Parcel::Words(words) => {
                for said in words {
                    let word = device.word(said.user);
                    word.is(said.shown, said.watched > 0, conn);
                    // What answers a watch of before is no longer of interest, or is again.
                    if word.loose.is_some_and(|it| said.watched >= it) {
                        word.loose = None;
                    }
                }
            }
            Parcel::Answer(number) => {
                if let Some(beat) = device.beat.as_mut().filter(|it| it.0 == number) {
                    beat.2 = now <= beat.1 + ANSWER;
                }
            }
            Parcel::Welcome(mode) => (device.welcomed, device.mode) = (true, Some(mode)),
            Parcel::Mode(mode) => device.mode = Some(mode),
            Parcel::Room { room, said, whole, members } => {
                device.hears_of(conn, room, said, whole, &members);
            }
            Parcel::Other => {}
        }
    }

    /// A client core is told that its connection has ended.
    pub(super) fn lost(&mut self, conn: usize, code: u16) {
        if let Some(device) = self.conns[conn].device {
            self.devices[device].lost = Some((self.now, code));
        }
    }

    pub(super) fn says(&mut self, device: usize, conn: Option<usize>, beat: Option<u8>) {
        let now = self.now;
        if let Some(conn) = conn {
            self.conns[conn].said.push_back(now);
        }
        let device = &mut self.devices[device];
        device.said = now;
        if let Some(number) = beat {
            device.beat = Some((number, now, false));
        }
    }

    pub(super) fn told(
        &mut self,
        device: usize,
        part: u32,
        user: &str,
        state: State,
        note: &str,
    ) -> Found {
        let id = self.user(user);
        let device = &mut self.devices[device];
        let Some(part) = device.parts.get((part as usize).wrapping_sub(1)) else { return Ok(()) };
        let found = device.interests.iter_mut().find(|it| it.user == id && it.part == *part);
        let Some(interest) = found else {
            let text = format!("{part} of {} watches {user} no more", device.name);
            return self.complain(Kind::CallbackRepeats, text);
        };
        let shown = Shown { state, note: note.to_owned() };
        let before = interest.told.replace(shown);
        if interest.told == before || (before.is_none() && state == State::Unknown) {
            let text = format!("{} is told again that {user} is {}", device.name, state.name());
            return self.complain(Kind::CallbackRepeats, text);
        }
        Ok(())
    }

    /// An app is told the link's state.
    pub(super) fn link(&mut self, device: usize, state: LinkState, scripted: bool) -> Found {
        let now = self.now;
        let row = &mut self.devices[device];
        let before = row.link;
        if state == LinkState::Connecting {
            // A new attempt is not held to how the last one ended.
            row.lost = None;
            row.dials_away |= !row.runs();
        }
        row.link = state;
        row.link_since = row.awake_at(now);
        match state {
            LinkState::Live => row.is_good_at(now),
            LinkState::Connecting => {}
            _ => row.is_cut_off(now),
        }
        let row = &self.devices[device];
        let code = row.lost.filter(|it| it.0 == now).map(|it| it.1);
        let told = code.is_some();
        let stops = code.is_some_and(|it| CloseCode::retry_after(it) == Retry::No);
        match state {
            LinkState::Stopped if !stops => {
                let text = format!("{} stops after {code:?}", row.name);
                self.complain(Kind::Stopped, text)
            }
            LinkState::Waiting if stops => {
                let text = format!("{} comes back after {code:?}", row.name);
                self.complain(Kind::Stopped, text)
            }
            LinkState::Waiting if before == LinkState::Live && !told && !scripted => {
                // Given up by its own judgement: a beat must have stayed unanswered for long enough.
                match row.beat {
                    Some((_, at, false)) if now >= at + ANSWER => Ok(()),
                    beat => {
                        let text = format!("{} gives up; last beat {beat:?}", row.name);
                        self.complain(Kind::LinkGivenUp, text)
                    }
                }
            }
            _ => Ok(()),
        }
    }
}
