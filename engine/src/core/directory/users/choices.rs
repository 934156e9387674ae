//! What users choose: their mode, their note, and how exactly their last seen is told.

use greendot_protocol::{Mode, ModeChoice, Revision, State, Time};

use super::{Change, Directory};
use crate::core::directory::people::UserId;
use crate::core::gate::LastSeen;

impl Directory {
    /// Takes the mode that the shared store tells; true if it is another.
    pub(crate) fn adopt_mode(&mut self, user: UserId, mode: Mode, revision: Revision) -> bool {
        let before = self.people.mode(user).0;
        self.people.set_revision(user, revision);
        self.people.set_mode(user, mode);
        before != mode
    }

    /// What the user chose is known no more, nor that anything was chosen: what is repeated next counts.
    pub(crate) fn forget_choice(&mut self, user: UserId) {
        self.adopt_mode(user, Mode::Auto, Revision(0));
        self.people.set_chosen(user, false);
    }

    /// The user's own choice; `None` if nothing was chosen anew.
    pub fn set_mode(&mut self, now: Time, user: &str, mode: Mode) -> (UserId, Option<Change>) {
        let id = self.people.intern(user);
        if self.people.mode(id).0 == mode && self.people.has_chosen(id) {
            return (id, None);
        }
        self.choose(now, id, mode);
        (id, Some(self.settle(id)))
    }

    /// The user's note; the same again is no change.
    pub fn set_note(&mut self, user: &str, note: &str) -> (UserId, Change) {
        let id = self.people.intern(user);
        (id, self.people.set_note(id, note))
    }

    /// How exactly others may see when the user was there last; true if that is new.
    pub fn set_last_seen(&mut self, user: &str, wish: LastSeen) -> (UserId, bool) {
        let id = self.people.intern(user);
        (id, self.people.set_wish(id, wish))
    }

    fn choose(&mut self, now: Time, id: UserId, mode: Mode) {
        self.people.set_chosen(id, true);
        self.people.set_revision(id, self.people.mode(id).1.next());
        self.put_mode(now, id, mode);
    }

    /// Weighs the mode that came with a connect (rule 5): a fresh choice is taken; a repeated one
    /// only if nobody has chosen in this epoch and it is the newest repeated so far.
    pub(super) fn weigh(&mut self, now: Time, id: UserId, choice: ModeChoice) -> bool {
        let (before, revision) = self.people.mode(id);
        if choice.fresh {
            self.people.set_revision(id, revision.max(choice.revision));
            self.choose(now, id, choice.mode);
        } else if !self.people.has_chosen(id) && choice.revision > revision {
            self.people.set_revision(id, choice.revision);
            self.put_mode(now, id, choice.mode);
        }
        self.people.mode(id).0 != before
    }

    fn put_mode(&mut self, now: Time, id: UserId, mode: Mode) {
        if mode == Mode::Invisible && self.people.public(id).state != State::Offline {
            // Becoming hidden counts as a frame heard then (rule 9).
            self.people.hear(id, now);
        }
        self.people.set_mode(id, mode);
    }
}
