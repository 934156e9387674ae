//! What a node has done since it began: for metrics. Nothing in it names a user.

use greendot_protocol::{Span, Time};

use super::Node;
use crate::core::directory::UserId;

/// Numbers that only ever rise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeTotals {
    /// Connections that were given a seat.
    pub connects: u64,
    /// Those of them whose session was there already: it lingered, or was taken over.
    pub reconnects: u64,
    /// Beats that renewed a lease.
    pub beats: u64,
    /// Frames from connections that spoke for no session any more.
    pub late_frames: u64,
    /// Beats among them: heartbeats that renewed nothing.
    pub late_beats: u64,
    /// How sessions ended.
    pub endings: Endings,
    /// How long after its deadline each session was ended by a sweep.
    pub lag: Lag,
    /// Users that were there again within [`FLAP`] of when they were heard last, having been called offline in between.
    pub flaps: u64,
    /// Changes of what others see of users.
    pub changes: u64,
    /// Watchers, each time one was to be told of a change.
    pub marks: u64,
    /// Times that something newer took the place of what a watcher had not been sent yet.
    pub overtaken: u64,
    /// Entries in snapshots and events that went out: what the watchers were told.
    pub entries: u64,
    /// Frames with such entries.
    pub entry_frames: u64,
    /// What was asked of the shared store.
    pub store_requests: u64,
    /// Answers of the application on who may see whom that failed, came late or were missing.
    pub look_failures: u64,
    /// The same of answers on who may be in which room.
    pub join_failures: u64,
}

/// How sessions ended, and connections by being taken over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Endings {
    /// With a goodbye.
    pub bye: u64,
    /// Their connection had ended, and their grace was over.
    pub closed: u64,
    /// Nothing was heard of them for `ttl`.
    pub expired: u64,
    /// A later connect of the session took over: the connection ended, the session went on.
    pub replaced: u64,
    /// Their account was revoked.
    pub revoked: u64,
    /// Another session of the user, or the application, ended them.
    pub signed_out: u64,
    /// For what a client did wrong.
    pub refused: u64,
}

/// A user that comes back within this time after a call of offline has flapped.
pub const FLAP: Span = Span::from_secs(60);

/// Classes of lags.
const CLASSES: usize = 9;

/// How long after their deadline sessions were ended, in classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    classes: [Class; CLASSES],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Class {
    count: u64,
    millis: u64,
}

impl Lag {
    /// The longest lag in each class, in ms; the last one takes all that are longer.
    pub const BOUNDS: [u64; CLASSES] = [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, u64::MAX];

    fn add(&mut self, lag: Span) {
        let millis = lag.as_millis();
        if let Some(place) = Self::BOUNDS.iter().position(|it| millis <= *it) {
            let class = &mut self.classes[place];
            class.count += 1;
            class.millis += millis;
        }
    }

    /// Of each class what has come since `before`: how many, and their mean in seconds.
    pub fn since(&self, before: &Self) -> impl Iterator<Item = (u64, f64)> {
        let pairs = self.classes.iter().zip(before.classes);
        pairs.filter_map(|(now, before)| {
            let (count, millis) = (now.count - before.count, now.millis - before.millis);
            (count > 0).then(|| (count, millis as f64 / 1e3 / count as f64))
        })
    }
}

impl Node {
    /// A session ends because its time has come.
    pub(super) fn count_due(&mut self, now: Time, deadline: Time, lingered: bool) {
        self.totals.lag.add(now.since(deadline));
        let endings = &mut self.totals.endings;
        *(if lingered { &mut endings.closed } else { &mut endings.expired }) += 1;
    }

    /// A user whom others see has become visible by a connect.
    pub(super) fn count_flap(&mut self, now: Time, user: UserId) {
        let back = |seen: Time| now.since(seen) <= FLAP;
        self.totals.flaps += u64::from(self.directory.seen(user).is_some_and(back));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lag_is_counted_in_its_class_and_once() {
        let mut lag = Lag::default();
        for millis in [0, 50, 51, 70_000] {
            lag.add(Span::from_millis(millis));
        }
        let told: Vec<_> = lag.since(&Lag::default()).collect();
        assert_eq!(told, [(2, 0.025), (1, 0.051), (1, 70.0)]);
        let before = lag;
        lag.add(Span::from_millis(60));
        assert_eq!(lag.since(&before).collect::<Vec<_>>(), [(1, 0.06)]);
    }
}
