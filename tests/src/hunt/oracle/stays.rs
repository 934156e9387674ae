//! Which rooms a user's sessions are in, going by what its nodes were told.

use super::cluster::Cluster;
use super::session::Session;
use super::user::User;

/// A session in a room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stay {
    /// The room, by its place in the oracle's table.
    pub(super) room: usize,
    pub(super) sure: Sure,
    /// It has left, and its node could not say so.
    left: bool,
    /// Its present connection said so, and not one before.
    here: bool,
}

/// Whether every node must know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sure {
    Yes,
    /// Once its node can say so.
    Later,
    /// It may be true, and may never be.
    Never,
}

/// Whether a user may be in a room, and must be; each with since when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Presence {
    pub(super) may: bool,
    pub(super) must: bool,
}

impl Stay {
    pub(super) fn is_sure(&self) -> bool {
        self.sure == Sure::Yes && !self.left && self.here
    }

    /// One that may be, and may not.
    pub(super) fn unsure(room: usize) -> Self {
        Self { room, sure: Sure::Never, left: false, here: false }
    }
}

impl Session {
    /// It goes into a room; `heard` if every node knows at once.
    pub(super) fn enter(&mut self, room: usize, heard: bool) {
        let sure = if heard { Sure::Yes } else { Sure::Later };
        match self.stays.iter_mut().find(|it| it.room == room) {
            Some(stay) => {
                if stay.sure != Sure::Yes || stay.left {
                    stay.sure = sure;
                }
                (stay.left, stay.here) = (false, true);
            }
            None => self.stays.push(Stay { room, sure, left: false, here: true }),
        }
    }

    /// An earlier connect of it went there, or left, at a node that did not know of the later one.
    pub(super) fn may_have_moved(&mut self, room: usize) {
        match self.stays.iter_mut().find(|it| it.room == room) {
            Some(stay) => stay.sure = Sure::Never,
            None => self.stays.push(Stay::unsure(room)),
        }
    }

    /// It leaves a room.
    pub(super) fn exit(&mut self, room: usize, heard: bool) {
        if heard {
            self.stays.retain(|it| it.room != room);
        } else if let Some(stay) = self.stays.iter_mut().find(|it| it.room == room) {
            stay.left = true;
        }
    }

    /// What its next connection finds it in; `sure` if every node knows both.
    pub(super) fn hands_on(&self, sure: bool) -> Vec<Stay> {
        let hand_on = |it: &Stay| Stay {
            sure: if sure && !it.left { it.sure } else { Sure::Never },
            here: false,
            left: false,
            ..*it
        };
        self.stays.iter().map(hand_on).collect()
    }

    /// Its node has told the others what it had to tell.
    pub(super) fn stays_are_told(&mut self) {
        self.stays.retain(|it| !it.left);
        for stay in self.stays.iter_mut().filter(|it| it.sure == Sure::Later) {
            stay.sure = Sure::Yes;
        }
    }

    /// Its node is gone.
    pub(super) fn stays_are_untold(&mut self) {
        for stay in self.stays.iter_mut().filter(|it| it.sure == Sure::Later || it.left) {
            (stay.sure, stay.left) = (Sure::Never, false);
        }
    }

    /// Its node can tell nobody anything from now on: where an earlier connection went, it does not know,
    /// and cannot say again if the session ends meanwhile.
    pub(super) fn stays_are_parted(&mut self) {
        for stay in self.stays.iter_mut().filter(|it| !it.here) {
            stay.sure = Sure::Never;
        }
    }

    /// The store is lost: its node tells the new one where its connection went.
    pub(super) fn stays_are_lost(&mut self) {
        for stay in &mut self.stays {
            let again = stay.here && !self.orphan && stay.sure != Sure::Never;
            stay.sure = if again { Sure::Later } else { Sure::Never };
        }
    }

    fn presence(&self, room: usize, now: u64, cluster: &Cluster) -> Presence {
        let stay = self.stays.iter().find(|it| it.room == room);
        let Some(stay) = stay.filter(|_| !self.passive && now <= self.must_end(cluster)) else {
            return Presence::default();
        };
        let must = stay.sure == Sure::Yes && !stay.left && self.is_certain(now, cluster);
        Presence { may: true, must }
    }
}

impl User {
    /// Works out anew in which rooms the user may be; whether that has changed.
    pub(super) fn derive_rooms(&mut self, now: u64, cluster: &Cluster) -> bool {
        let mut changed = false;
        for room in 0..self.rooms.len() {
            let of_session = |it: &Session| it.presence(room, now, cluster);
            let is = self.sessions.iter().map(of_session).fold(Presence::default(), |sum, it| {
                Presence { may: sum.may || it.may, must: sum.must || it.must }
            });
            let history = &mut self.rooms[room];
            if history.last().map_or(Presence::default(), |it| it.1) != is {
                history.push((now, is));
                changed = true;
            }
        }
        changed
    }

    /// Whether the user may be, and must be, taken to be in a room by one who may be behind since
    /// then.
    pub(super) fn presence(&self, room: usize, since: Option<u64>) -> Presence {
        if self.murky {
            return Presence { may: true, must: false };
        }
        let since = since.unwrap_or(u64::MAX);
        let (mut may, mut must, mut end) = (false, true, u64::MAX);
        let history = self.rooms.get(room).map_or(&[][..], |it| it);
        for &(at, it) in history.iter().rev() {
            if end < since {
                return Presence { may, must };
            }
            (may, must, end) = (may || it.may, must && it.must, at);
        }
        Presence { may, must: must && !history.is_empty() && end < since }
    }
}
