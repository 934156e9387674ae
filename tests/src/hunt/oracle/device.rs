//! A device: what its app must be shown, going by what reached it.

use greendot_client::core::LinkState;
use greendot_protocol::Mode;

use super::choices::Choice;
use super::conn::Shown;
use super::page_rooms::PageRoom;

/// A page that stands still for longer notices, in ms.
const NOTICED: u64 = 2_000;

/// A device and the page on it.
#[derive(Clone, Debug)]
pub(super) struct Device {
    pub(super) name: String,
    pub(super) gone: bool,
    pub(super) frozen: bool,
    pub(super) asleep: bool,
    pub(super) cached: bool,
    pub(super) offline: bool,
    pub(super) blackholed: bool,
    pub(super) hidden: bool,
    pub(super) link: LinkState,
    /// Since when the link is in this state, in time awake.
    pub(super) link_since: u64,
    /// The connection that brought something last.
    pub(super) conn: Option<usize>,
    /// Whether that connection was welcomed.
    pub(super) welcomed: bool,
    /// The parts of the app, in the order of their numbers.
    pub(super) parts: Vec<String>,
    pub(super) interests: Vec<Interest>,
    pub(super) rooms: Vec<PageRoom>,
    /// Rooms that the app left last, and when.
    pub(super) left: Vec<(usize, u64)>,
    /// By user.
    pub(super) words: Vec<Word>,
    /// Time awake up to `counted`.
    awake: u64,
    counted: u64,
    /// What it stood still for in pieces too short to be noticed.
    dozed: u64,
    still_since: Option<u64>,
    /// Whether its app has dialled since its page was put away: then the page runs, for all that its client can tell.
    pub(super) dials_away: bool,
    /// When the link was last known to be good, in time awake.
    pub(super) good: u64,
    /// What it had stood still for unnoticed by then.
    pub(super) dozed_when_good: u64,
    /// When it was last woken, in ms of the run.
    pub(super) woken: u64,
    /// When its page was last shown, in ms of the run: what was due before is due now.
    pub(super) shown: u64,
    /// When it said something last, in ms of the run.
    pub(super) said: u64,
    /// The last beat on this connection: its number, when, and whether it was answered.
    pub(super) beat: Option<(u8, u64, bool)>,
    /// What it was told last of its user's mode.
    pub(super) mode: Option<Mode>,
    /// What its app chose, and no node has read.
    pub(super) chosen: Option<Choice>,
    /// When it was told last that a connection has ended, and with what code.
    pub(super) lost: Option<(u64, u16)>,
}

/// A part of the app that watches a user.
#[derive(Clone, Debug)]
pub(super) struct Interest {
    pub(super) part: String,
    pub(super) user: usize,
    /// What it was told last.
    pub(super) told: Option<Shown>,
}

/// What the engine last said of a user to this page.
#[derive(Clone, Debug, Default)]
pub(super) struct Word {
    pub(super) shown: Option<Shown>,
    /// What the page may show as well: what was said before a word that it need not go by, since its watch has an answer of
    /// its own still to come.
    pub(super) or: Option<Shown>,
    /// When the row may have been let go and begun anew: until that watch is answered, showing
    /// nothing yet is right too.
    pub(super) loose: Option<u64>,
    /// Since when what is shown is not what a right engine would show.
    pub(super) wrong_since: Option<u64>,
    /// The connection that brought it, while that stands.
    conn: Option<usize>,
    /// When that was lost, in time awake, if it had never been live.
    pub(super) cut: u64,
}

impl Word {
    /// The engine's word has reached the page; `binds` if that has to show it.
    pub(super) fn is(&mut self, said: Shown, binds: bool, conn: usize) {
        self.conn = Some(conn);
        let before = self.or.take().or_else(|| self.shown.take()).unwrap_or(Shown::NOTHING);
        self.or = (!binds).then_some(before);
        self.shown = Some(said);
    }
}

impl Device {
    pub(super) fn new(name: &str, now: u64) -> Self {
        Self {
            name: name.into(),
            gone: false,
            frozen: false,
            asleep: false,
            cached: false,
            offline: false,
            blackholed: false,
            hidden: false,
            link: LinkState::Closed,
            link_since: 0,
            conn: None,
            welcomed: false,
            parts: Vec::new(),
            interests: Vec::new(),
            rooms: Vec::new(),
            left: Vec::new(),
            words: Vec::new(),
            awake: 0,
            dozed: 0,
            still_since: None,
            dials_away: false,
            counted: now,
            good: 0,
            dozed_when_good: 0,
            woken: now,
            shown: now,
            said: now,
            beat: None,
            mode: None,
            chosen: None,
            lost: None,
        }
    }

    /// Whether its page's code runs.
    pub(super) fn runs(&self) -> bool {
        !(self.gone || self.frozen || self.asleep || self.cached)
    }

    /// Time awake, in ms.
    pub(super) fn awake_at(&mut self, now: u64) -> u64 {
        if self.runs() {
            self.awake += now - self.counted;
        }
        self.counted = now;
        self.awake
    }

    /// The link is known to be good.
    pub(super) fn is_good_at(&mut self, now: u64) {
        self.good = self.awake_at(now);
        self.dozed_when_good = self.dozed;
    }

    /// Its page stands still from now on, or runs again.
    pub(super) fn turns_still(&mut self, now: u64, was_running: bool) {
        match (was_running, self.runs()) {
            (true, false) => (self.still_since, self.dials_away) = (Some(now), false),
            (false, true) => {
                // No event tells of a sleep but a timer that is late, and busy pages are late too.
                let still = self.still_since.take().map_or(0, |it| now - it);
                self.dozed += if still <= NOTICED || self.dials_away { still } else { 0 };
            }
            _ => {}
        }
    }

    /// For how long it may think that it was cut off while awake, at most.
    pub(super) fn cut_off_at_most(&self) -> u64 {
        (self.awake - self.good) + (self.dozed - self.dozed_when_good)
    }

    /// The present connection is gone before it was live: what it brought is old from now on.
    pub(super) fn is_cut_off(&mut self, now: u64) {
        let awake = self.awake_at(now);
        for word in &mut self.words {
            if word.conn.take().is_some() {
                word.cut = awake;
            }
        }
        for room in &mut self.rooms {
            room.conn = None;
        }
    }

    /// Whether what this connection brought is as new as can be: it waits for the rest of what was asked for, and is not cut
    /// off.
    pub(super) fn is_told_by(&self, conn: Option<usize>) -> bool {
        self.link == LinkState::Connecting && conn.is_some() && conn == self.conn
    }

    /// Whether the last word about a user came over the present connection, which is not live yet.
    pub(super) fn is_fresh(&self, user: usize) -> bool {
        self.words.get(user).is_some_and(|it| self.is_told_by(it.conn))
    }

    pub(super) fn word(&mut self, user: usize) -> &mut Word {
        if user >= self.words.len() {
            self.words.resize_with(user + 1, Word::default);
        }
        &mut self.words[user]
    }

    /// Whether any part watches the user.
    pub(super) fn watches(&self, user: usize) -> bool {
        self.interests.iter().any(|it| it.user == user)
    }
}

#[cfg(test)]
mod tests {
    use greendot_protocol::State;

    use super::*;

    /// A page that is put away from the 10th second to the 14th: for how long its client may think that it was cut
    /// off while awake, as of the 20th. Its link was last good at the beginning.
    fn cut_off(dials: bool) -> u64 {
        let mut device = Device::new("ana/s1", 0);
        for (at, cached) in [(10_000, true), (14_000, false)] {
            device.awake_at(at);
            let ran = device.runs();
            device.cached = cached;
            device.turns_still(at, ran);
            device.dials_away |= dials && cached;
        }
        device.awake_at(20_000);
        device.cut_off_at_most()
    }

    #[test]
    fn an_app_that_dials_while_its_page_is_put_away_has_a_page_that_runs() {
        assert_eq!(cut_off(false), 16_000);
        assert_eq!(cut_off(true), 20_000);
    }

    #[test]
    fn a_word_that_does_not_bind_leaves_the_one_before_right() {
        let shown = |state| Shown { state, note: String::new() };
        let mut word = Word::default();
        word.is(shown(State::Online), true, 0);
        assert_eq!(word.or, None);
        for _ in 0..2 {
            word.is(shown(State::Offline), false, 0);
            assert_eq!(word.or, Some(shown(State::Online)));
        }
        word.is(shown(State::Offline), true, 0);
        assert_eq!((word.shown, word.or), (Some(shown(State::Offline)), None));
    }
}
