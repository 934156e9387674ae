//! Looking at what apps are shown.

use greendot_client::core::{Client, LinkState};
use greendot_protocol::State;

use super::conn::Shown;
use super::{Found, Kind, Oracle, Place, SLACK};
use crate::world::{Device as Page, World};

/// How long the answer to a beat may take, and how late a timer may be before the client takes it
/// that it has slept, in ms.
const ANSWER: u64 = 5_000;
const LATE: u64 = 2_000;

/// What a hidden page's timers may add.
const THROTTLED: u64 = 200_000;

/// The longest wait before a dial, and then some.
const WAIT: u64 = 31_000;

impl Oracle<'_> {
    /// Looks at every device; `round` says whether those things are due that only time can break.
    pub(super) fn look_at_devices(&mut self, world: &World<'_>, round: bool) -> Found {
        if round {
            self.look_at_staleness()?;
        }
        for device in 0..self.devices.len() {
            if !round && !self.touched.get(device).is_some_and(|it| *it) {
                continue;
            }
            let page = world.device_at(device);
            let Some(client) = page.client() else { continue };
            if round {
                self.look_at_times(device, page)?;
            }
            self.look_at_view(device, page, client)?;
            self.look_at_rooms(device, page)?;
        }
        Ok(())
    }

    fn look_at_view(&mut self, device: usize, page: &Page, client: &Client) -> Found {
        let now = self.now;
        let stale = client.stale();
        for place in 0..self.devices[device].interests.len() {
            let interest = &self.devices[device].interests[place];
            let user = interest.user;
            let (state, note) = page
                .shows(&self.users[user].name)
                .map_or((State::Unknown, ""), |(state, _, note)| (state, note));
            let told = interest.told.as_ref();
            if told.map_or((State::Unknown, ""), |it| (it.state, &*it.note)) != (state, note) {
                let text = format!(
                    "{} shows {} {}, its part {} was told {told:?}",
                    page_name(page),
                    self.users[user].name,
                    state.name(),
                    interest.part
                );
                return self.complain(Kind::CallbackMissing, text);
            }
            self.compare(device, user, state, note)?;
            let runs = self.devices[device].runs() && !self.devices[device].offline;
            let right = stale || !runs || self.is_right(device, user, state, note);
            let patience = self.view_patience(device);
            let word = self.devices[device].word(user);
            let since = if right { None } else { Some(word.wrong_since.unwrap_or(now)) };
            word.wrong_since = since;
            if since.is_some_and(|it| now > it + patience) {
                let text = format!(
                    "{} shows {} as {} and not stale, wrong since {since:?} ms",
                    page_name(page),
                    self.users[user].name,
                    state.name()
                );
                return self.complain(Kind::ViewOldNotStale, text);
            }
        }
        Ok(())
    }

    /// A view shows the last word that reached it; what it may forget it forgets in its time.
    fn compare(&mut self, device: usize, user: usize, state: State, note: &str) -> Found {
        let now = self.now;
        let memory = self.cluster.periods.ttl + self.cluster.periods.grace;
        let row = &mut self.devices[device];
        let awake = row.awake_at(now);
        let (good, live) = (row.good, row.link == LinkState::Live);
        let (cut_off, fresh) = (row.cut_off_at_most(), row.is_fresh(user));
        let word = row.word(user);
        let right = word.shown.clone().unwrap_or(Shown::NOTHING);
        let is_shown = |it: &Shown| it.state == state && it.note == note;
        if is_shown(&right) || word.or.as_ref().is_some_and(is_shown) {
            return Ok(());
        }
        if state == State::Unknown && word.loose.is_some() {
            return Ok(());
        }
        if state == State::Unknown && right.state != State::Unknown {
            if !live && !fresh && cut_off + SLACK >= memory {
                word.shown = None;
                return Ok(());
            }
            let text = format!(
                "{} forgot that {} is {}; cut off for {} ms",
                row.name,
                self.users[user].name,
                right.state.name(),
                awake - good
            );
            return self.complain(Kind::ViewForgotten, text);
        }
        let (name, user) = (row.name.clone(), self.users[user].name.clone());
        let text = format!("{name} shows {user} {} {note:?}, told was {right:?}", state.name());
        let place = Place::View { device: name, user, state: right.state };
        self.complain_at(Kind::ViewWrong, text, place)
    }

    /// Whether a right engine would show the same now.
    pub(super) fn is_right(&self, device: usize, user: usize, state: State, note: &str) -> bool {
        let Some(conn) = self.devices[device].conn else { return true };
        let conn = &self.conns[conn];
        let mut allowed = self.allowed(conn.node, user, conn.user);
        if !self.cluster.is_settled(conn.node) {
            allowed = allowed.with(State::Unknown);
        }
        allowed.has(state) && self.allows_note(conn.node, user, state, note)
    }

    /// How long a live view may be wrong and not say so.
    fn view_patience(&self, device: usize) -> u64 {
        let periods = &self.cluster.periods;
        let throttled = if self.devices[device].hidden { THROTTLED } else { 0 };
        periods.beat
            + ANSWER
            + LATE
            + 2 * periods.latency
            + periods.tick
            + periods.crowds
            + throttled
    }

    fn look_at_times(&mut self, device: usize, page: &Page) -> Found {
        let now = self.now;
        let periods = self.cluster.periods;
        let row = &mut self.devices[device];
        let awake = row.awake_at(now);
        if !row.runs() || row.hidden {
            return Ok(());
        }
        if row.link == LinkState::Live {
            let quiet = now.saturating_sub(row.said.max(row.woken));
            let longest = periods.beat.max(ANSWER) + LATE;
            let shown = now > row.shown + LATE;
            if quiet > longest && shown && awake > row.link_since + longest {
                let text = format!("{} has said nothing for {quiet} ms", row.name);
                return self.complain(Kind::BeatMissing, text);
            }
            return Ok(());
        }
        if row.link == LinkState::Waiting && awake > row.link_since + WAIT {
            let text = format!("{} has waited for {} ms", row.name, awake - row.link_since);
            return self.complain(Kind::LinkStuck, text);
        }
        let longest = periods.ttl + periods.grace + periods.beat + ANSWER + LATE;
        if awake > row.good + longest {
            let kept = row.interests.iter().map(|it| it.user).find(|&user| {
                // What a connection told that was never live it may have told lately.
                let cut = row.words.get(user).map_or(0, |it| it.cut);
                let old = !row.is_fresh(user) && awake > cut + longest;
                let shows = page.shows(&self.users[user].name);
                old && shows.is_some_and(|it| it.0 != State::Unknown)
            });
            if let Some(user) = kept {
                let text = format!(
                    "{} still shows {} after {} ms",
                    row.name,
                    self.users[user].name,
                    awake - row.good
                );
                return self.complain(Kind::ViewKept, text);
            }
        }
        Ok(())
    }
}

fn page_name(page: &Page) -> &str {
    page.name()
}
