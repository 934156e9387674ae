//! Those who wait for an answer of the node.

use std::time::Duration;

use greendot_protocol::{CloseCode, Time};
use tokio::sync::oneshot;

use super::Driver;
use crate::clock::timeout;
use crate::core::{Answer, Node};
use crate::server::poll::{RoomsTold, Told};
use crate::store::Place;

impl Driver {
    /// Where a user's sessions are; none if nobody can say, or has not said within `limit`.
    pub(in crate::server) async fn locate(
        &self,
        limit: Duration,
        user: &str,
    ) -> Option<Vec<Place>> {
        let (answer, answered) = oneshot::channel();
        let (number, _) = self.operate(|now, core| {
            core.next_poll += 1;
            let number = core.next_poll;
            core.locating.insert(number, answer);
            core.node.locate(now, number, user);
            number
        });
        let places = timeout(limit, answered).await;
        if places.is_none() {
            self.lock().locating.remove(&number);
        }
        places?.ok()?
    }

    /// How everybody may see a user; none if nobody has said within `limit`.
    pub(in crate::server) async fn show(&self, limit: Duration, user: &str) -> Option<Answer> {
        let (answer, answered) = oneshot::channel();
        let (number, _) = self.operate(|now, core| {
            core.next_poll += 1;
            let number = core.next_poll;
            core.showing.insert(number, answer);
            core.node.show(now, number, user);
            number
        });
        let shown = timeout(limit, answered).await;
        if shown.is_none() {
            self.lock().showing.remove(&number);
        }
        shown?.ok()
    }

    /// Whether all that was said here of a user is stored; false if that has not been said within `limit`.
    pub(in crate::server) async fn confirm(&self, limit: Duration, user: &str) -> bool {
        let (answer, answered) = oneshot::channel();
        let (number, _) = self.operate(|now, core| {
            core.next_poll += 1;
            let number = core.next_poll;
            core.storing.insert(number, answer);
            core.node.confirm(now, number, user);
            number
        });
        let stored = timeout(limit, answered).await;
        if stored.is_none() {
            self.lock().storing.remove(&number);
        }
        matches!(stored, Some(Ok(true)))
    }

    /// Begins a poll of users and rooms under a number, and waits for the answers, at most so long; none if they did not
    /// come.
    ///
    /// # Errors
    ///
    /// What `begin` refuses it with.
    pub(in crate::server) async fn poll(
        &self,
        limit: Duration,
        asks_rooms: bool,
        begin: impl FnOnce(Time, &mut Node, u64) -> Result<(), CloseCode>,
    ) -> Result<Option<(Told, RoomsTold)>, CloseCode> {
        let (answer, answered) = oneshot::channel();
        let (rooms, rooms_answered) = oneshot::channel();
        let (number, _) = self.operate(|now, core| {
            core.next_poll += 1;
            let number = core.next_poll;
            begin(now, &mut core.node, number)?;
            core.polls.insert(number, answer);
            if asks_rooms {
                core.room_polls.insert(number, rooms);
            }
            Ok(number)
        });
        let number = number?;
        let both = async {
            // Where none are asked about, the sender is gone by now.
            let rooms =
                rooms_answered.await.ok().or_else(|| (!asks_rooms).then(RoomsTold::default));
            Some((answered.await.ok()?, rooms?))
        };
        let answers = timeout(limit, both).await;
        if answers.is_none() {
            let mut core = self.lock();
            core.polls.remove(&number);
            core.room_polls.remove(&number);
        }
        Ok(answers.flatten())
    }
}
