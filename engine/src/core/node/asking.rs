//! The application's answers, kept apart by what they were asked for.
//!
//! Whoever watches or reads by name chooses whom to ask about; in rooms it is their members who are asked about. Were both kept
//! together, one could join a room, then watch a user whom the application does not show, and see by how soon the answer comes
//! whether that user is in the room.

use std::sync::Arc;

use greendot_protocol::Time;

use crate::core::audience::{Audience, PairName, Settled};
use crate::core::gate::Fineness;
use crate::core::settings::AudienceRule;
use crate::core::watches::WatchId;

/// What an answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A user who is watched or read by name.
    Name,
    /// A member of a room.
    Room,
}

/// The answers for each purpose.
#[derive(Debug)]
pub(super) struct Asking {
    named: Audience,
    members: Audience,
}

impl Asking {
    pub(super) fn new(rule: AudienceRule, seed: u64) -> Self {
        // Their questions have odd numbers and even ones.
        Self { named: Audience::new(rule, seed, 1), members: Audience::new(rule, seed, 2) }
    }

    fn of(&self, purpose: Purpose) -> &Audience {
        match purpose {
            Purpose::Name => &self.named,
            Purpose::Room => &self.members,
        }
    }

    fn of_mut(&mut self, purpose: Purpose) -> &mut Audience {
        match purpose {
            Purpose::Name => &mut self.named,
            Purpose::Room => &mut self.members,
        }
    }

    /// Pairs of which something is kept.
    pub(super) fn len(&self) -> usize {
        self.named.len() + self.members.len()
    }

    /// How many answers have failed, were late or were missing.
    pub(super) fn failures(&self) -> u64 {
        self.named.failures() + self.members.failures()
    }

    pub(super) fn deadline(&self) -> Time {
        self.named.deadline().min(self.members.deadline())
    }

    /// What is known of a pair; nothing is to be seen where nothing is known.
    pub(super) fn known(&self, now: Time, purpose: Purpose, viewer: &str, user: &str) -> Fineness {
        self.of(purpose).known(now, viewer, user)
    }

    /// Since when what is known of a pair has been no less.
    pub(super) fn since(&self, purpose: Purpose, viewer: &str, user: &str) -> Time {
        self.of(purpose).since(viewer, user)
    }

    /// What is known of a pair; if nothing is, it is going to be asked, and `read` is told when it is known. True if it has to wait.
    pub(super) fn await_pair(
        &mut self,
        now: Time,
        viewer: &Arc<str>,
        user: &Arc<str>,
        read: u64,
    ) -> bool {
        self.named.await_pair(now, viewer, user, read)
    }

    /// Whatever is not known of these members is going to be asked; nobody waits for it.
    pub(super) fn begin_members(&mut self, now: Time, viewer: &Arc<str>, users: &[Arc<str>]) {
        for user in users.iter().filter(|it| *it != viewer) {
            self.members.begin(now, viewer, user);
        }
    }

    /// What is known of a watch's pair, and since when it has been no less. It is told of each later answer, too.
    pub(super) fn attach(
        &mut self,
        now: Time,
        purpose: Purpose,
        viewer: &Arc<str>,
        user: &Arc<str>,
        watch: WatchId,
    ) -> Option<(Fineness, Time)> {
        self.of_mut(purpose).attach(now, viewer, user, watch)
    }

    /// A watch has ended.
    pub(super) fn detach(&mut self, viewer: &str, user: &str, watch: WatchId) {
        self.named.detach(viewer, user, watch);
        self.members.detach(viewer, user, watch);
    }

    /// What was said holds no more. The watches that are to show nothing newer until it is said anew.
    pub(super) fn change(&mut self, user: Option<&str>, viewer: Option<&str>) -> Vec<WatchId> {
        let mut watches = self.named.change(user, viewer);
        watches.append(&mut self.members.change(user, viewer));
        watches
    }

    pub(super) fn questions(&mut self, now: Time) -> Vec<(u64, Vec<PairName>)> {
        let mut questions = self.named.questions(now);
        questions.append(&mut self.members.questions(now));
        questions
    }

    pub(super) fn answer(
        &mut self,
        now: Time,
        number: u64,
        answers: &[Option<Fineness>],
        settled: &mut Settled,
    ) {
        let purpose = if number % 2 == 1 { Purpose::Name } else { Purpose::Room };
        self.of_mut(purpose).answer(now, number, answers, settled);
    }

    pub(super) fn timeout(&mut self, now: Time, settled: &mut Settled) {
        self.named.timeout(now, settled);
        self.members.timeout(now, settled);
    }
}
