//! Those who wait for an answer of the node.

use std::collections::HashMap;
use std::time::Duration;

use greendot_protocol::{CloseCode, Time};
use tokio::sync::oneshot;

use super::Driver;
use super::core::Core;
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
        self.ask(limit, |it| &mut it.locating, |now, node, number| node.locate(now, number, user))
            .await?
    }

    /// How everybody may see a user; none if nobody has said within `limit`.
    pub(in crate::server) async fn show(&self, limit: Duration, user: &str) -> Option<Answer> {
        self.ask(limit, |it| &mut it.showing, |now, node, number| node.show(now, number, user))
            .await
    }

    /// Whether all that was said here of a user is stored; false if that has not been said within `limit`.
    pub(in crate::server) async fn confirm(&self, limit: Duration, user: &str) -> bool {
        let begin = |now, node: &mut Node, number| node.confirm(now, number, user);
        self.ask(limit, |it| &mut it.storing, begin).await == Some(true)
    }

    /// Asks the node under a number, and waits for the answer among those that are `waiting`, at most so long.
    async fn ask<T>(
        &self,
        limit: Duration,
        waiting: fn(&mut Core) -> &mut HashMap<u64, oneshot::Sender<T>>,
        begin: impl FnOnce(Time, &mut Node, u64),
    ) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        let (number, _) = self.operate(|now, core| {
            core.next_poll += 1;
            let number = core.next_poll;
            waiting(core).insert(number, answer);
            begin(now, &mut core.node, number);
            number
        });
        let said = timeout(limit, answered).await;
        if said.is_none() {
            waiting(&mut self.lock()).remove(&number);
        }
        said?.ok()
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
