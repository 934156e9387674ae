//! Whether the store can be reached, and what is made up for when it is back.

use std::sync::Arc;

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{ModeChoice, Span, Time};

use super::anew::Anew;
use super::pending::Pending;
use super::waiting::Words;
use super::words::Word;
use super::{
    BEAT, ENDS_AFTER, LOST_AFTER, LOST_BEAT, OPENS_AFTER, REFRESH_AFTER, Reach, Shared, Skipped,
    Then,
};
use crate::core::leases::{ConnId, Waiting};
use crate::core::node::{Node, Output};
use crate::store::{Request, Silent};

impl Node {
    pub(in crate::core::node) fn store_timeout(&mut self, now: Time) {
        let stall = self.stall();
        let Some(shared) = self.shared.as_mut() else { return };
        if now.since(shared.beat_at) > stall {
            // The node has stood still. What the store has answered is not read yet.
            for it in shared.pending.iter_mut() {
                it.since = now;
            }
        }
        // While all is registered and asked about anew much waits for what is before it: then it counts that the store answers.
        let heard = if shared.is_stale() { shared.answered } else { Time::ZERO };
        let since = shared.pending.front().map(|it| it.since.max(heard));
        let waits = since.is_some_and(|it| now.since(it) >= LOST_AFTER);
        if waits && shared.reach != Reach::Lost {
            self.lose_store(now);
        }
        let Some(shared) = self.shared.as_mut() else { return };
        if shared.reach == Reach::Lost {
            shared.pending.take();
        }
        if shared.beat_at <= now {
            let every = if shared.reach == Reach::Lost { LOST_BEAT } else { BEAT };
            let due = std::mem::replace(&mut shared.beat_at, now + every);
            self.find_silent(now);
            self.send_beat(now);
            self.begin_to_catch_up(now, due);
        }
        let Some(shared) = self.shared.as_mut() else { return };
        if let Reach::Back(Some(at)) = shared.reach
            && at <= now
            && shared.anew.is_over()
        {
            shared.reach = Reach::Back(None);
            self.refresh(now);
        }
        let Some(shared) = self.shared.as_mut() else { return };
        let may_say = shared.reach != Reach::Lost && shared.anew.is_over();
        if shared.ends_at.is_some_and(|at| at <= now) && may_say {
            shared.ends_at = None;
            let ended = shared.unsaid.take_if(|it| !it.may_come_later());
            self.tell_anew(now, Anew::new(ended, Vec::new(), false));
        }
        let Some(shared) = self.shared.as_mut() else { return };
        let may_say = shared.reach != Reach::Lost && shared.anew.is_over();
        if shared.says_at.is_some_and(|at| at <= now) && may_say {
            self.say_what_waited(now);
        }
        let Some(shared) = self.shared.as_mut() else { return };
        if shared.opens_at.is_some_and(|at| at <= now) && shared.is_known_anew() {
            shared.opens_at = None;
            self.ask_about_waiting(now, true);
        }
    }

    /// Says again what the store has left unanswered for long, for what is said now must not get there before it. What
    /// that overrules is not said any more.
    pub(super) fn say_unheard(&mut self, now: Time, next: Option<&Word>) {
        let lost = |it: &&mut Shared| it.pending.is_lost_on_its_way(now, it.answered);
        let Some(shared) = self.shared.as_mut().filter(lost) else { return };
        let mut words = Words::default();
        // What was told since goes again, too: each behind what it follows.
        let (told, patience) = shared.pending.take_alone();
        for word in told {
            words.keep(word);
        }
        if let Some(next) = next {
            words.drop_overruled(next);
        }
        for word in words {
            self.submit(now, word.request(now), Then::Nothing);
            if let Some(shared) = self.shared.as_mut() {
                shared.pending.be_patient(patience);
            }
        }
    }

    pub(super) fn send_beat(&mut self, now: Time) {
        let Some(shared) = self.shared.as_mut() else { return };
        let is_lost = shared.reach == Reach::Lost;
        let away = if is_lost { now.since(shared.answered) } else { Span::ZERO };
        let silent = std::mem::take(&mut shared.silent);
        let heard = std::mem::take(&mut shared.heard);
        let silent = silent.into_iter().filter_map(|it| self.silent_of(now, it)).collect();
        let heard = heard
            .into_iter()
            .filter_map(|it| self.silent_of(now, it))
            .map(|it| (it.name, it.seat))
            .collect();
        self.submit(now, Request::Beat { away, silent, heard }, Then::Beaten);
        // In an outage they wait for the refresh.
        let users = if is_lost { Vec::new() } else { self.watches.take_counted() };
        if !users.is_empty() {
            self.submit(now, Request::Count { users }, Then::Nothing);
        }
    }

    pub(super) fn lose_store(&mut self, now: Time) {
        let Some(shared) = self.shared.as_mut() else { return };
        let was_stale = shared.is_stale();
        shared.reach = Reach::Lost;
        shared.blinded = true;
        shared.given_up = shared.pending.front().map(|it| it.asked);
        shared.ends_at = None;
        shared.says_at = None;
        shared.hiders.clear();
        shared.stop_registering();
        let waiting = shared.pending.take();
        shared.choices.clear();
        for word in waiting.iter().filter_map(|it| it.word.clone()) {
            shared.unsaid.keep(word);
        }
        let since = shared.answered;
        self.watches.set_blind(Some(since));
        if !was_stale {
            self.tell_stale();
        }
        for pending in waiting {
            self.answer_blind(now, pending.then);
        }
        for conn in self.watches.waiting_conns() {
            self.wake(conn);
        }
    }

    /// Answers who waits for the store, without it: by what this node knows.
    pub(super) fn answer_blind(&mut self, now: Time, then: Then) {
        match then {
            // The connection must not wait for the store: it is welcome.
            Then::Connected(lease) => self.welcome(lease),
            Then::Asked(look) => self.answer_look(now, now, &look, &[], None),
            Then::RoomsRead(look) => self.rooms_read(now, look, &[]),
            Then::Located { ask, .. } => self.located(ask, None),
            Then::Shown { ask, user } => self.show_blind(now, ask, &user),
            Then::Stored(ask) => self.say(Output::Stored { ask, stored: false }),
            Then::Listed { ask, viewer } => self.answer_list(now, now, ask, viewer, &[], None),
            Then::Loaded(_)
            | Then::Watched(_)
            | Then::Looked
            | Then::Opening { .. }
            | Then::LookedInto
            | Then::Joined { .. }
            | Then::Seated { .. }
            | Then::Beaten
            | Then::Nothing => {}
        }
    }

    /// The store has lost what it held: what was asked before all nodes have registered again it cannot know.
    fn drop_questions(&mut self, now: Time) {
        let Some(shared) = self.shared.as_mut() else { return };
        let asked = |it: &&mut Pending| !matches!(it.then, Then::Connected(_) | Then::Beaten);
        let dropped: Vec<Then> = shared
            .pending
            .iter_mut()
            .filter(asked)
            .map(|it| std::mem::replace(&mut it.then, Then::Nothing))
            .collect();
        for then in dropped {
            self.answer_blind(now, then);
        }
    }

    /// Keeps what must not be lost of requests that were, unless something later was said.
    pub(super) fn make_up(&mut self, now: Time, lost: Vec<Pending>, answered: Option<&Pending>) {
        let mut words = Vec::new();
        for it in lost {
            words.extend(it.word);
            match it.then {
                Then::RoomsRead(look) => self.enter_rooms(now, look),
                Then::Asked(look) => {
                    let (viewer, users) = (Arc::clone(&look.viewer), look.users.clone());
                    self.submit(now, Request::Read { viewer, users }, Then::Asked(look));
                }
                Then::Located { ask, user } => self.locate(now, ask, &user),
                Then::Shown { ask, user } => self.show(now, ask, &user),
                Then::Stored(ask) => self.say(Output::Stored { ask, stored: false }),
                Then::Listed { ask, viewer } => self.list(now, ask, &viewer),
                _ => {}
            }
        }
        let Some(shared) = self.shared.as_mut().filter(|_| !words.is_empty()) else { return };
        let mut lost = Words::default();
        for word in words {
            lost.keep(word);
        }
        for later in shared.pending.iter().chain(answered).filter_map(|it| it.word.as_ref()) {
            lost.drop_overruled(later);
        }
        for word in lost {
            shared.unsaid.keep(word);
        }
    }

    /// The store answers again, perhaps without what it held.
    pub(super) fn come_back(&mut self, now: Time, lost_data: bool) {
        // Then the store was in reach: the others have had their word about sessions whose lease ran
        // out meanwhile. What still waits for them here is read before they end.
        let late = self.has_stood_still(now);
        let Some(shared) = self.shared.as_mut() else { return };
        let (was_lost, was_stale) = (shared.reach == Reach::Lost, shared.is_stale());
        let stood_still = late && !was_lost;
        shared.stop_registering();
        shared.blinded |= lost_data;
        // The refresh makes up for all.
        shared.skipped = Skipped::default();
        shared.opens_at = Some(now + OPENS_AFTER);
        shared.reach = Reach::Back(Some(if lost_data { now + REFRESH_AFTER } else { now }));
        if !stood_still && !on(Fault::NobodySpared) {
            shared.spared_until = now + self.settings.ttl;
        }
        // Who said goodbye is gone; who only dropped may have gone on at another node.
        let is_over = |it: &Word| matches!(it, Word::Ended(departed, _) if !departed.bye);
        let ended = shared.unsaid.take_if(is_over);
        if was_lost {
            shared.ends_at = Some(now + ENDS_AFTER);
        } else if !ended.is_empty() {
            shared.ends_at.get_or_insert(now);
        }
        let mut words: Vec<Word> =
            std::mem::replace(&mut shared.unsaid, Words::of(ended)).into_iter().collect();
        let waits = was_lost || shared.says_at.is_some();
        shared.says_at = shared.says_at.filter(|_| !lost_data);
        shared.hiders.clear();
        if waits && !lost_data {
            shared.leave_for_later(now, &mut words);
        }
        let mut leases = shared.leases(!lost_data);
        if lost_data {
            self.drop_questions(now);
            // Nobody is shown to one it hid from, before it can say so again.
            for (user, viewer) in self.watches.blocks() {
                let request = Request::SetBlock { user, viewer, blocked: true, ago: None };
                self.submit(now, request, Then::Nothing);
            }
        }
        leases.retain(|it| !self.is_of_hider(*it));
        self.tell_anew(now, Anew::new(words, leases, stood_still));
        self.cover_nobody_who_ended(now);
        if lost_data {
            self.watches.begin_epoch();
        }
        if !was_stale {
            self.tell_stale();
        }
    }

    /// Sessions of which the end is told later are no longer covered by this node's signs of life: nobody hears them here.
    fn cover_nobody_who_ended(&mut self, now: Time) {
        let Some(shared) = self.shared.as_ref().filter(|it| it.thin) else { return };
        let ended = shared.unsaid.iter().filter_map(|it| match it {
            Word::Ended(it, at) => {
                let heard_ago = it.heard_ago + now.since(*at);
                Some(Silent { name: it.name.clone(), seat: it.seat, heard_ago })
            }
            _ => None,
        });
        let silent: Vec<Silent> = ended.collect();
        if !silent.is_empty() {
            let request = Request::Beat { away: Span::ZERO, silent, heard: Vec::new() };
            self.submit(now, request, Then::Nothing);
        }
    }

    /// Users who look at themselves, or are members of rooms: asks how they stand, and to be told from now on.
    pub(in crate::core::node) fn load(&mut self, now: Time, users: Vec<Arc<str>>) {
        self.submit(now, Request::Subscribe { users: users.clone() }, Then::Loaded(users));
    }

    /// The same for users whom others watch by name, and for whose answer these wait.
    pub(in crate::core::node) fn load_watched(&mut self, now: Time, users: Vec<Arc<str>>) {
        self.submit(now, Request::Subscribe { users: users.clone() }, Then::Watched(users));
    }

    /// Users whom nobody here watches any more.
    pub(in crate::core::node) fn unload(&mut self, now: Time) {
        let users = self.watches.take_forgotten();
        let viewers = self.watches.take_forgotten_onlookers();
        let ended = self.watches.take_ended();
        if let Some(audience) = self.audience.as_mut() {
            for (viewer, user, watch) in ended {
                audience.detach(&viewer, &user, watch);
            }
        }
        if self.shared.is_some() && !users.is_empty() {
            self.submit(now, Request::Unsubscribe { users }, Then::Nothing);
        }
        let rooms = self.watches.take_forgotten_rooms();
        if self.shared.is_some() && !rooms.is_empty() {
            self.submit(now, Request::LookOut { rooms }, Then::Nothing);
        }
        if self.shared.is_some() && !viewers.is_empty() {
            self.submit(now, Request::LookAway { viewers }, Then::Nothing);
        }
    }

    /// Users whose connections begin to look: asks what stands between them and others, and to be
    /// told from now on.
    pub(in crate::core::node) fn look(&mut self, now: Time, viewers: Vec<Arc<str>>) {
        self.submit(now, Request::Look { viewers }, Then::Looked);
    }

    /// Whether the store has all that was said here of the user so far; [`Output::Stored`] brings it under the number
    /// `ask`. What it does not have is kept and told when it is back, as long as this node lives. A node that works alone keeps
    /// it itself.
    pub fn confirm(&mut self, now: Time, ask: u64, user: &str) {
        let Some(shared) = &self.shared else {
            return self.say(Output::Stored { ask, stored: true });
        };
        if shared.is_lost() || shared.has_unsaid(user) {
            return self.say(Output::Stored { ask, stored: false });
        }
        // It is answered behind what was said before.
        self.submit(now, Request::Locate { user: user.into() }, Then::Stored(ask));
    }

    /// Asks how those stand whom viewers are to see again: that waits for the answer, or for the refresh if watchers have yet
    /// to be refreshed.
    pub(in crate::core::node) fn ask_before_opening(&mut self, now: Time) {
        if self.shared.as_ref().is_some_and(Shared::is_known_anew) {
            self.ask_about_waiting(now, false);
        }
    }

    fn ask_about_waiting(&mut self, now: Time, again: bool) {
        let Some((turn, users)) = self.watches.take_unasked(again) else { return };
        let request = Request::Subscribe { users: users.clone() };
        self.submit(now, request, Then::Opening { turn, users });
    }

    /// Tells all connections that what they see may be stale, or that it is good again. Who comes later hears it with its welcome.
    pub(super) fn tell_stale(&mut self) {
        for conn in self.conn_ids() {
            self.leases.wait(conn, Waiting::STALE);
            self.wake(conn);
        }
    }

    pub(super) fn register(&mut self, now: Time, lease: ConnId) {
        let Some(session) = self.session_of(lease) else { return };
        let mode = self.directory.user_of(session).map(|user| {
            let (mode, revision) = self.directory.mode(user);
            ModeChoice { mode, revision, fresh: false }
        });
        self.register_with(now, lease, mode);
    }
}
