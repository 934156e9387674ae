//! What happens to the page, and what the person does.

use greendot_protocol::{Span, Time};

use super::Client;
use crate::core::alarms::Reason;
use crate::core::beat::{ANSWER, LATE};
use crate::core::link::{Loss, Phase};
use crate::core::output::Message;

/// What the browser says about the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// Nobody can see it (`visibilitychange`). Timers may come once a minute from now on.
    Hidden,
    /// It can be seen.
    Visible,
    /// None of its code runs until [`Page::Resumed`] (`freeze`).
    Frozen,
    /// It runs again (`resume`); also what a driver says that sees the wall clock jump ahead of
    /// the steady one, which is how some machines wake.
    Resumed,
    /// There is no network, as far as the browser knows.
    Offline,
    /// There is one again.
    Online,
    /// It goes away and may come back (`pagehide`).
    Left,
    /// It is back, from the back/forward cache (`pageshow` with `persisted`).
    Shown,
}

impl Page {
    /// Every event, in the order of the numbers that JavaScript uses.
    pub const ALL: [Self; 8] = [
        Self::Hidden,
        Self::Visible,
        Self::Frozen,
        Self::Resumed,
        Self::Offline,
        Self::Online,
        Self::Left,
        Self::Shown,
    ];
}

impl Client {
    /// Something happened to the page.
    pub fn handle_page(&mut self, now: Time, page: Page) {
        let now = self.arrive(now);
        match page {
            Page::Hidden => self.awake.hide(true),
            Page::Visible => {
                self.thaw(now);
                self.awake.hide(false);
                self.on_visible(now);
                self.hasten(now, IN_SIGHT);
            }
            Page::Frozen => self.awake.freeze(),
            Page::Resumed => {
                self.thaw(now);
                self.doubt(now);
            }
            Page::Offline => {
                self.offline = true;
                self.doubt(now);
            }
            Page::Online => {
                self.on_online(now);
                self.hasten(now, ONLINE);
            }
            Page::Left => self.on_left(now),
            Page::Shown => {
                self.thaw(now);
                self.doubt(now);
                self.hasten(now, IN_SIGHT);
            }
        }
    }

    /// The person has touched the page. Cheap: no timer moves.
    pub fn handle_input(&mut self, now: Time) {
        self.handle_input_elsewhere(now);
        // So it did not go after all.
        self.thaw(now);
    }

    /// The person has touched another page of this browser, which is the same device to everybody.
    pub fn handle_input_elsewhere(&mut self, now: Time) {
        let now = self.arrive(now);
        self.idle.last_input = now;
        if core::mem::take(&mut self.idle.said) && self.link.is_open() {
            self.send(now, Message::Active);
            self.await_idle();
        }
    }

    fn on_visible(&mut self, now: Time) {
        if let Some(heart) = self.heart.as_ref() {
            let silence = now.since(heart.heard_at());
            if silence > heart.beat() + ANSWER {
                self.doubt(now);
            } else if silence > LATE && !heart.has_asked() {
                self.ask(now);
            }
        }
    }

    /// A link that has not answered since the network went is given up: in most cases the address
    /// has changed, and to wait for its silence would only cost time. One that did answer, such as
    /// a server on this very machine, is kept, and asked once more.
    fn on_online(&mut self, now: Time) {
        let was_offline = core::mem::take(&mut self.offline);
        if self.heart.is_some() {
            if was_offline && self.doubted {
                self.drop_link(now, Loss::at(now));
            } else {
                self.ask(now);
            }
        } else if self.dialled_offline && self.link.phase >= Phase::Token {
            self.drop_link(now, Loss::at(now));
        }
    }

    /// The page may be kept for a return or thrown away; nobody knows. Either way the connection
    /// is over, or the page would not be kept.
    fn on_left(&mut self, now: Time) {
        self.awake.freeze();
        if self.link.phase >= Phase::Token {
            self.say_farewell(now, Message::Closing);
            self.lose(now, Loss { page_left: true, ..Loss::at(now) });
        } else if self.link.phase == Phase::Waiting {
            self.say_farewell(now, Message::Closing);
            self.link.phase = Phase::Away;
            self.alarms.clear(Reason::Retry);
        }
    }

    fn hasten(&mut self, now: Time, jitter: Span) {
        self.link.hasten(now, jitter, &mut self.alarms, &mut self.rng);
    }

    /// The page runs, whatever was said of it before. Frozen time is not time awake.
    pub(super) fn thaw(&mut self, now: Time) {
        if let Some(still) = self.awake.thaw(now) {
            self.was_still(still);
        }
        if self.link.phase == Phase::Away {
            self.hasten(now, IN_SIGHT);
        }
    }
}

/// The longest wait once the network is back; many clients may hear of it at the same time.
const ONLINE: Span = Span::from_secs(1);

/// The longest wait once a person looks at the page.
const IN_SIGHT: Span = Span::from_millis(500);
