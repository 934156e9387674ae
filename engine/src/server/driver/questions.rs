//! What the application is asked.

use std::sync::{Arc, Weak};

use super::Driver;
use crate::clock::timeout;
use crate::server::audience::Pair;

/// A question to the application.
#[derive(Debug)]
pub(super) enum Question {
    Look { number: u64, pairs: Vec<Pair> },
    MayJoin { ask: u64, user: Arc<str>, room: Arc<str> },
}

impl Driver {
    /// Asks the application. One that hangs is left alone; the core has its own deadline, and asks
    /// again.
    pub(super) fn put(&self, question: Question) {
        let Some(audience) = self.audience.clone() else { return };
        let (driver, patience) = (Weak::clone(&self.me), self.patience);
        self.runtime.spawn(async move {
            match question {
                Question::Look { number, pairs } => {
                    let said = timeout(patience, audience.any_look(pairs)).await;
                    let said: Vec<_> = said.into_iter().flatten().map(Some).collect();
                    if let Some(driver) = driver.upgrade() {
                        driver.answered(|now, node| node.handle_audience(now, number, &said));
                    }
                }
                Question::MayJoin { ask, user, room } => {
                    let said = timeout(patience, audience.any_may_join(user, room)).await;
                    if let Some(driver) = driver.upgrade() {
                        let may = said.flatten();
                        driver.answered(|now, node| node.handle_may_join(now, ask, may));
                    }
                }
            }
        });
    }
}
