//! What the store answers, and tells unasked.

use std::sync::Arc;

use greendot_protocol::{CloseCode, Epoch, Mode, Revision, Span, Time};

use super::{Reach, Shared, Then};
use crate::core::directory::{Outlook, SessionView};
use crate::core::leases::{ConnId, Idle, Waiting};
use crate::core::node::{Ending, Node, Output, Transition};
use crate::store::{HeldBy, Notice, OutlookReport, Reply, Report, Request};

impl Node {
    /// The store's answer to the request of this number.
    pub fn handle_reply(&mut self, now: Time, number: u64, reply: &Reply) {
        let Some(shared) = self.shared.as_mut() else { return };
        // Requests are carried out in order: what was asked before and not answered is lost.
        let (lost, answered) = shared.pending.take_until(number);
        let mut missed = !lost.is_empty();
        self.make_up(now, lost, answered.as_ref());
        let word = answered.as_ref().and_then(|it| it.word.as_ref());
        if let (Some(shared), Some(word)) = (self.shared.as_mut(), word)
            && let Some(user) = shared.choices.answered(number, word)
        {
            self.settled(&user);
        }
        let asked = answered.as_ref().map(|it| it.asked);
        let then = answered.map_or(Then::Nothing, |it| it.then);
        let Some(shared) = self.shared.as_mut() else { return };
        let away = now.since(std::mem::replace(&mut shared.answered, now));
        let was_lost = shared.reach == Reach::Lost;
        // A node that was spoken to before it ever reached the store had to make an epoch up.
        let lost_data = shared.epoch != Some(reply.epoch) && (shared.epoch.is_some() || was_lost);
        shared.epoch = Some(reply.epoch);
        if lost_data {
            shared.clock.forget();
        }
        let said = match asked.or(shared.given_up) {
            Some(asked) => shared.clock.date_answer(now, asked, reply.at),
            None => shared.clock.date(now, reply.at),
        };
        if !std::mem::replace(&mut shared.has_grid, true) || lost_data {
            self.watches.set_grid(grid(said, reply.at));
        }
        self.set_warming(said, reply.warming);
        for report in &reply.turned {
            self.say(Output::Transition(Transition {
                user: (&*report.user).into(),
                state: report.public.state,
                version: report.public.version,
                note: Some(&report.note).filter(|it| !it.is_empty()).map(Arc::clone),
            }));
        }
        if let Some(shared) = self.shared.as_mut().filter(|it| it.noticed == 0) {
            // From its first answer on: a notice that is lost right behind it would not be missed.
            (shared.told, shared.noticed) = (reply.told, reply.told);
        }
        if matches!(then, Then::Beaten) {
            let Some(shared) = self.shared.as_mut() else { return };
            // A lost notice heals here, within two beats; so does it that the store has forgotten
            // a node that was silent for long.
            missed |= shared.told > shared.noticed && shared.noticed > 0;
            shared.told = reply.told;
            let anew = missed || shared.noticed == 0;
            shared.noticed = if anew { reply.told } else { shared.noticed };
        }
        if lost_data && let Some(shared) = self.shared.as_mut() {
            (shared.told, shared.noticed) = (reply.told, reply.told);
        }
        if was_lost && !matches!(then, Then::Beaten) {
            // An answer that was given up: the store has yet to hear that this node was away, or it would take
            // what the node covered for covered still.
            self.submit(now, Request::Beat { away, silent: vec![], heard: vec![] }, Then::Beaten);
        }
        if was_lost || lost_data || missed {
            self.come_back(now, lost_data);
        }
        if lost_data && !matches!(then, Then::Connected(_)) {
            // Said by a store that nobody has told yet what they hold. What is wanted is asked again when all have.
            self.answer_blind(now, then);
            return;
        }
        self.apply(now, said, reply.epoch, &reply.reports);
        if !matches!(then, Then::Asked(_) | Then::Listed { .. }) {
            // What answers a question stands only between the one who asks and those asked about.
            let fresh = self.shared.as_ref().is_some_and(|it| it.is_fresh(reply.told));
            self.apply_outlooks(now, said, reply.epoch, &reply.outlooks, fresh);
        }
        if let Some(shared) = self.shared.as_mut() {
            // A refresh of which an answer was lost is begun anew.
            shared.refresh.answered(number);
            shared.anew.answered(number);
        }
        let refreshed = self.shared.as_ref().is_some_and(|it| it.refreshes(number));
        // Where the store has lost what it held, others have yet to register who else is there.
        for roster in reply.rooms.iter().filter(|_| !refreshed) {
            self.take_roster(now, roster.clone());
        }
        match then {
            Then::Nothing | Then::Beaten => {}
            Then::Looked => {
                let refreshes = |it: &&mut Shared| {
                    it.reach == Reach::Back(None) && it.refresh.has_looked(number)
                };
                if let Some(shared) = self.shared.as_mut().filter(refreshes) {
                    shared.blinded = false;
                }
                self.wake_waiting(now);
            }
            Then::Opening { turn, users } => {
                self.open_waiting(now, Some(turn));
                self.loaded(now, &users);
                self.watches.forget_unwatched(users);
                self.unload(now);
            }
            Then::LookedInto => {
                // Joins whose answer was lost, among them. Of those asked about since it is not known here who is there.
                for (conn, seat) in self.watches.unseated(number) {
                    self.take_seat(now, conn, seat);
                }
                if let Some(shared) = self.shared.as_mut() {
                    shared.refresh.seated(number, shared.next_request);
                }
                self.wake_waiting(now);
            }
            // What was asked for others before, and lost, is known once the refresh is answered, and that seats all who wait.
            Then::Joined { .. } if refreshed => {}
            Then::Joined { conn, number: seat } => {
                if self.answers_for_seat(conn, seat, number) {
                    self.take_seat(now, conn, seat);
                }
            }
            Then::Seated { conn, number: seat, users } => {
                self.loaded(now, &users);
                if !refreshed && self.answers_for_seat(conn, seat, number) {
                    self.open_seat(now, conn, seat);
                }
                self.watches.forget_unwatched(users);
                self.unload(now);
            }
            Then::Watched(users) => {
                for user in &users {
                    self.watches.open_subject(user);
                }
                self.loaded(now, &users);
            }
            Then::Connected(lease) => self.connected(now, lease, reply.held),
            Then::Loaded(users) => self.loaded(now, &users),
            Then::Asked(look) => {
                self.answer_look(now, said, &look, &reply.reports, reply.outlooks.first());
            }
            Then::RoomsRead(look) => self.rooms_read(now, look, &reply.rooms),
            Then::Located { ask, .. } => self.located(ask, Some(reply.places.clone())),
            Then::Shown { ask, user } => {
                self.show_report(now, said, ask, &user, reply.reports.first());
            }
            // Where something was lost on the way, that may have been among it.
            Then::Stored(ask) => self.say(Output::Stored { ask, stored: !missed }),
            Then::Listed { ask, viewer } => {
                let outlook = reply.outlooks.first();
                self.answer_list(now, said, ask, viewer, &reply.reports, outlook);
            }
        }
        self.skipped_answered(now, number);
        self.see_again(now);
        self.tell_on(now);
        self.end_refresh(now);
    }

    /// The store tells something unasked, as its notice of this number.
    pub fn handle_notice(&mut self, now: Time, number: u64, notice: &Notice) {
        if let Some(shared) = self.shared.as_mut() {
            // A gap shows at the next beat: what was skipped is not counted as come.
            let expected = shared.noticed == 0 || number == shared.noticed + 1;
            shared.noticed = if expected { number } else { shared.noticed };
        }
        // What is not taken is asked for, behind what its viewers may see.
        let blinded = self.shared.as_mut().is_some_and(|it| {
            it.blinded |= it.is_unheard(now);
            it.blinded
        });
        match notice {
            Notice::Changed { epoch, .. } | Notice::Room { epoch, .. } if blinded => {
                if let Some(shared) = self.shared.as_mut().filter(|it| it.epoch == Some(*epoch)) {
                    shared.skip(notice);
                }
            }
            Notice::Changed { epoch, at, report } => {
                let Some(shared) = self.shared.as_mut().filter(|it| it.epoch == Some(*epoch))
                else {
                    // From an epoch that is over, or that this node has not entered.
                    return;
                };
                let said = shared.clock.date(now, *at);
                self.apply(now, said, *epoch, std::slice::from_ref(report));
            }
            Notice::Outlook { epoch, at, outlook } => {
                let Some(shared) = self.shared.as_mut().filter(|it| it.epoch == Some(*epoch))
                else {
                    return;
                };
                let said = shared.clock.date(now, *at);
                let fresh = shared.is_fresh(number);
                self.apply_outlooks(now, said, *epoch, std::slice::from_ref(outlook), fresh);
            }
            Notice::Room { epoch, roster } => {
                if self.shared.as_ref().is_some_and(|it| it.epoch == Some(*epoch)) {
                    self.take_roster(now, roster.clone());
                }
            }
            Notice::Sessions { at, user, sessions } => {
                let Some(shared) = self.shared.as_mut() else { return };
                let said = shared.clock.date(now, *at);
                let sessions = sessions.iter().cloned();
                let sessions = sessions.map(|(it, age)| SessionView { since: said - age, ..it });
                let sessions = sessions.collect();
                self.take_sessions(user, sessions);
            }
            Notice::Nothing => {}
            Notice::SignedOut { seat } => self.end_seat(now, *seat, CloseCode::SignedOut),
            Notice::AudienceChanged { user, viewer } => {
                self.forget_answers(now, user.as_deref(), viewer.as_deref());
            }
            Notice::Replaced { seat, passive: false } => {
                self.lose_seat(now, *seat, CloseCode::Replaced);
            }
            Notice::Replaced { seat, passive: true } => {
                self.end_seat(now, *seat, CloseCode::Replaced);
            }
            Notice::Revoked { seat } => self.end_seat(now, *seat, CloseCode::Revoked),
            Notice::Ended { seat } => {
                if let Some(lease) = self.seat(*seat) {
                    self.ended_elsewhere(now, lease);
                }
            }
            Notice::Mode { seat, mode, revision } => {
                if let Some(lease) = self.seat(*seat) {
                    self.adopt_mode(now, lease, *mode, *revision);
                }
            }
        }
    }

    pub(super) fn seat(&self, number: u64) -> Option<ConnId> {
        self.shared.as_ref()?.by_number.get(&number).copied()
    }

    /// The store has ended the session, by what it knew.
    fn ended_elsewhere(&mut self, now: Time, lease: ConnId) {
        let Some(standing) = self.leases.get(lease) else { return };
        if !self.lives_on(now, lease) && self.reads_first(now, lease, &standing) {
            // Whatever is read then, a farewell too, and whatever is due here by then: this is not forgotten.
            if let Some(shared) = self.shared.as_mut() {
                shared.over.insert(lease);
            }
            return;
        }
        self.end_unless_heard(now, lease);
    }

    /// What waited on the connection has been read. If the store has ended its session, the end follows now; returns whether
    /// it has.
    pub(in crate::core::node) fn follows_end(&mut self, now: Time, lease: ConnId) -> bool {
        let over = self.shared.as_mut().is_some_and(|it| it.over.remove(&lease));
        if over {
            self.leases.end_reading(lease);
            self.end_unless_heard(now, lease);
        }
        over
    }

    fn end_unless_heard(&mut self, now: Time, lease: ConnId) {
        if self.lives_on(now, lease) {
            // It has been heard here since: the store did not know. It goes on.
            self.register(now, lease);
        } else {
            // Told back: only this node knows when it was heard last, and it may have been registered again while this was
            // on its way.
            self.end(now, lease, Ending::Code(CloseCode::Ended));
        }
    }

    /// Whether the session is connected here and not over by its lease.
    fn lives_on(&self, now: Time, lease: ConnId) -> bool {
        self.leases.get(lease).is_some_and(|it| {
            it.connected && it.lingers_until.is_none() && self.lives_until(&it) > now
        })
    }

    /// The store has ended the session: that is told back, for only this node knows when it was heard last.
    fn end_seat(&mut self, now: Time, number: u64, code: CloseCode) {
        if let Some(lease) = self.seat(number) {
            self.end(now, lease, Ending::Code(code));
        }
    }

    /// The store has given the session to another: it ends here without a word.
    pub(super) fn lose_seat(&mut self, now: Time, number: u64, code: CloseCode) {
        if let Some(lease) = self.seat(number) {
            self.forget_seat(lease);
            self.end(now, lease, Ending::Code(code));
        }
    }

    pub(super) fn adopt_mode(&mut self, now: Time, lease: ConnId, mode: Mode, revision: Revision) {
        let Some(session) = self.session_of(lease) else { return };
        let Some(user) = self.directory.user_of(session) else { return };
        if self.directory.adopt_mode(user, mode, revision) {
            self.tell_mode(user, None);
        }
        // What it may see may go by an older choice than the one known here: nobody forgets that it hid before it is known
        // that it does no more.
        let name = self.directory.shared_name(user);
        self.look_again(now, &name);
    }

    /// Whether the session was idle where it connected before, as the store knows it, and nothing else
    /// was said since. What this node remembers of it may be of a session that has ended meanwhile.
    fn adopt_idle(&mut self, lease: ConnId, idle: bool) {
        let Some(session) = self.session_of(lease) else { return };
        self.leases.set_idle(lease, if idle { Idle::Found } else { Idle::No });
        self.directory.set_idle(session, idle);
    }

    pub(super) fn loaded(&mut self, now: Time, users: &[Arc<str>]) {
        for user in users {
            self.watches.load_if_absent(now, user);
        }
        self.wake_waiting(now);
    }

    /// More is known than before: what waited for it may go.
    pub(super) fn wake_waiting(&mut self, now: Time) {
        for conn in self.watches.waiting_conns() {
            self.wake(conn);
        }
        self.schedule_flush(now);
    }

    /// What has waited for the answer to this question, or for the refresh, is seen from now on. Where other nodes may still
    /// have something to say, it is asked about once more.
    pub(super) fn open_waiting(&mut self, now: Time, turn: Option<u64>) {
        match self.shared.as_ref().and_then(|it| it.opens_at) {
            Some(_) => self.watches.open_first(now, turn),
            None => self.watches.open_waiting(now, turn),
        }
    }

    /// Takes how users stand, as of `said`.
    pub(super) fn apply(&mut self, now: Time, said: Time, epoch: Epoch, reports: &[Report]) {
        if self.shared.as_ref().is_none_or(|it| it.epoch != Some(epoch)) {
            // From an epoch that is over, or that this node has not entered.
            return;
        }
        for report in reports {
            self.watches.take(now, said, report);
        }
        self.schedule_flush(now);
    }

    /// Takes what stands between viewers and others, as of `said`.
    fn apply_outlooks(
        &mut self,
        now: Time,
        said: Time,
        epoch: Epoch,
        outlooks: &[OutlookReport],
        fresh: bool,
    ) {
        if self.shared.as_ref().is_none_or(|it| it.epoch != Some(epoch)) {
            return;
        }
        for report in outlooks {
            let outlook = Arc::new(Outlook::of(said, report));
            self.watches.set_outlook(now, &report.viewer, &outlook, fresh);
        }
        self.ask_before_opening(now);
        self.schedule_flush(now);
    }

    pub(super) fn set_warming(&mut self, said: Time, warming: Span) {
        if warming != Span::ZERO {
            self.warm_until = Some(said + warming);
            self.watches.begin_warmup();
        }
    }

    pub(super) fn connected(&mut self, now: Time, lease: ConnId, held: HeldBy) {
        match held {
            HeldBy::You { generation, mode, revision, idle } => {
                let Some(shared) = self.shared.as_mut() else { return };
                let Some(seat) = shared.seats.get_mut(&lease) else { return };
                seat.generation = Some(generation);
                let carries_over = seat.idle_said.is_none();
                if let Some(session) = self.session_of(lease) {
                    self.directory.set_generation(session, generation);
                }
                if carries_over {
                    self.adopt_idle(lease, idle);
                }
                self.adopt_mode(now, lease, mode, revision);
                self.welcome(lease);
            }
            HeldBy::Another => self.lose_lease(now, lease, CloseCode::Replaced),
            HeldBy::Over => self.ended_elsewhere(now, lease),
            HeldBy::Revoked => self.lose_lease(now, lease, CloseCode::Revoked),
            HeldBy::Full => self.lose_lease(now, lease, CloseCode::Full),
            HeldBy::Nobody => {}
        }
    }

    pub(super) fn lose_lease(&mut self, now: Time, lease: ConnId, code: CloseCode) {
        self.forget_seat(lease);
        self.end(now, lease, Ending::Code(code));
    }

    /// The connection of a lease may have its welcome, if it has had none.
    pub(super) fn welcome(&mut self, lease: ConnId) {
        let Some(waiting) = self.leases.waiting(lease) else { return };
        if !waiting.has(Waiting::WELCOMED) {
            self.leases.wait(lease, Waiting::WELCOMED);
            self.leases.wait(lease, Waiting::WELCOME);
            self.wake(lease);
        }
    }
}

/// Where rounded times begin on this node's clock: at midnight of the store's, which is the same
/// moment on every node, to the time that messages take.
fn grid(said: Time, at: Time) -> Time {
    const DAY: u64 = 24 * 3600 * 1000;
    let (said, at) = (said.as_millis() % DAY, at.as_millis() % DAY);
    Time::from_millis((said + DAY - at) % DAY)
}
