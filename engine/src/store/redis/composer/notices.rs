//! What partitions publish to a node, put together.

use std::sync::Arc;

use greendot_protocol::{Epoch, Time};

use super::rosters::{roster, turn};
use super::{Composer, Dated, take_newer};
use crate::store::Notice;
use crate::store::redis::notice::{Bundle, Told};
use crate::store::redis::part::{PartOutlook, PartRoster};
use crate::store::redis::words::BadWords;

/// Words to all nodes that are remembered, so that each counts once.
const WORDS: usize = 64;

impl Composer {
    /// What a partition has published to this node: notices with their numbers.
    ///
    /// # Errors
    ///
    /// If that is nothing that a script publishes.
    pub(in crate::store::redis) fn hear(
        &mut self,
        now: Time,
        partition: usize,
        row: &[u8],
    ) -> Result<Vec<(u64, Notice)>, BadWords> {
        let Bundle { epoch: said_in, at, told } = Bundle::read(row)?;
        let current = self.epoch();
        let is_current = self.shares[partition].epoch == said_in;
        // The node throws away what is of another epoch than its own.
        let epoch = if is_current { current } else { Epoch(!current.0) };
        let mut notices = Vec::new();
        for (number, told) in told {
            let share = &mut self.shares[partition];
            if is_current && number <= share.seen {
                // Given up before; it is made up for already.
                continue;
            }
            if is_current {
                // What was skipped is lost, and leaves a gap.
                self.told += number - share.seen;
                share.seen = number;
                share.said = share.said.max(number);
            } else {
                self.told += 1;
            }
            let notice = match told {
                Told::Changed(report) => Some(Notice::Changed { epoch, at, report }),
                Told::Outlook(part) => self.hear_outlook(partition, (at, part), is_current),
                Told::Room(part) => self.hear_room(now, partition, part, is_current),
                Told::Sessions { user, sessions } => Some(Notice::Sessions { at, user, sessions }),
                Told::SignedOut(seat) => Some(Notice::SignedOut { seat }),
                Told::Replaced { seat, passive } => Some(Notice::Replaced { seat, passive }),
                Told::Ended(seat) => Some(Notice::Ended { seat }),
                Told::Revoked(seat) => Some(Notice::Revoked { seat }),
                Told::Mode { seat, mode, revision } => Some(Notice::Mode { seat, mode, revision }),
                Told::Audience { user, viewer, word } => {
                    self.is_new(word).then_some(Notice::AudienceChanged { user, viewer })
                }
            };
            notices.push((self.told, notice.unwrap_or(Notice::Nothing)));
        }
        Ok(notices)
    }

    fn hear_outlook(
        &mut self,
        partition: usize,
        (at, part): Dated<PartOutlook>,
        is_current: bool,
    ) -> Option<Notice> {
        let viewer = Arc::clone(&part.viewer);
        let held = self.outlooks.get_mut(&viewer).filter(|_| is_current)?;
        take_newer(held, partition, (at, part), |it| it.1.number);
        if held.len() < self.shares.len() {
            // The others are on their way, with the answer.
            return None;
        }
        let outlook = self.outlook(at, &viewer, &self.outlooks[&viewer]);
        Some(Notice::Outlook { epoch: self.epoch(), at, outlook })
    }

    fn hear_room(
        &mut self,
        now: Time,
        partition: usize,
        part: PartRoster,
        is_current: bool,
    ) -> Option<Notice> {
        let name = Arc::clone(&part.room);
        let all = self.shares.len();
        let room = self.rooms.get_mut(&name).filter(|_| is_current)?;
        take_newer(&mut room.parts, partition, part, |it| it.number);
        if room.parts.len() < all {
            return None;
        }
        let roster = roster(self.room_limit, &name, &room.parts);
        // Each partition keeps to the rate; together they would not.
        if roster.count > self.room_limit && turn(room.told) == turn(now) {
            room.untold = true;
            return None;
        }
        (room.told, room.untold) = (now, false);
        Some(Notice::Room { epoch: self.epoch(), roster })
    }

    /// Crowds of which something was held back until now.
    pub(in crate::store::redis) fn take_untold(&mut self, now: Time) -> Vec<(u64, Notice)> {
        let epoch = self.epoch();
        let all = self.shares.len();
        let mut notices = Vec::new();
        for (name, room) in &mut self.rooms {
            if room.untold && turn(room.told) != turn(now) && room.parts.len() == all {
                (room.told, room.untold) = (now, false);
                self.told += 1;
                let roster = roster(self.room_limit, name, &room.parts);
                notices.push((self.told, Notice::Room { epoch, roster }));
            }
        }
        notices
    }

    /// Whether a word to all nodes comes for the first time.
    fn is_new(&mut self, word: Box<str>) -> bool {
        if self.words.contains(&word) {
            return false;
        }
        if self.words.len() == WORDS {
            self.words.pop_front();
        }
        self.words.push_back(word);
        true
    }
}
