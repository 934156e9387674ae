//! Who may see whom: what the engine keeps, and what it asks the application.

use std::sync::Arc;

use greendot_protocol::{Span, Time};

use super::asking::Purpose;
use super::shared::Then;
use super::{Node, Output};
use crate::core::audience::Settled;
use crate::core::gate::{Fineness, LastSeen};
use crate::store::Request;

impl Node {
    /// The user hides from the viewer from now on, or shows itself again. The engine keeps it,
    /// since when too; nobody can hide from itself.
    pub fn set_block(&mut self, now: Time, user: &str, viewer: &str, blocked: bool) {
        if self.shared.is_some() {
            if user != viewer {
                let (user, viewer) = (user.into(), viewer.into());
                let request = Request::SetBlock { user, viewer, blocked, ago: Some(Span::ZERO) };
                self.submit(now, request, Then::Nothing);
            }
            return;
        }
        if let Some(outlook) = self.directory.set_block(now, user, viewer, blocked) {
            self.watches.set_outlook(now, viewer, &outlook, true);
            self.schedule_flush(now);
        }
    }

    /// How exactly others may see when the user was there last.
    pub fn set_last_seen(&mut self, now: Time, user: &str, wish: LastSeen) {
        if self.shared.is_some() {
            let request = Request::SetLastSeen { user: user.into(), wish, ago: Span::ZERO };
            return self.submit(now, request, Then::Nothing);
        }
        let (id, new) = self.directory.set_last_seen(user, wish);
        if new {
            let record = self.directory.record(id);
            if let Some(subject) = self.watches.subject(user) {
                self.watches.publish(now, subject, record, Default::default());
            }
        }
    }

    /// What the application said of who may see whom holds no more: of this user (none: all) and
    /// this viewer (none: all). Nothing newer is shown until it has answered anew. Where whoever is named is in
    /// rooms, it is asked again whether that may be.
    pub fn audience_changed(&mut self, now: Time, user: Option<&str>, viewer: Option<&str>) {
        self.forget_answers(now, user, viewer);
        if self.shared.is_some() {
            let (user, viewer) = (user.map(Arc::from), viewer.map(Arc::from));
            self.submit(now, Request::AudienceChanged { user, viewer }, Then::Nothing);
        }
    }

    pub(super) fn forget_answers(&mut self, now: Time, user: Option<&str>, viewer: Option<&str>) {
        if let Some(audience) = self.audience.as_mut() {
            for watch in audience.change(user, viewer) {
                self.watches.pause(now, watch);
            }
        }
        self.ask_audience(now);
        self.ask_rights_again(now, &[user, viewer]);
    }

    /// The application's answer to [`Output::Audience`]: what each viewer may see, in the order of
    /// the pairs. What is missing has failed: it is asked again, and shows nothing meanwhile.
    pub fn handle_audience(&mut self, now: Time, number: u64, answers: &[Option<Fineness>]) {
        let Some(audience) = self.audience.as_mut() else { return };
        let mut settled = Settled::default();
        audience.answer(now, number, answers, &mut settled);
        self.settle_audience(now, settled);
    }

    pub(super) fn audience_timeout(&mut self, now: Time) {
        let Some(audience) = self.audience.as_mut().filter(|it| it.deadline() <= now) else {
            return;
        };
        let mut settled = Settled::default();
        audience.timeout(now, &mut settled);
        self.settle_audience(now, settled);
    }

    fn settle_audience(&mut self, now: Time, settled: Settled) {
        for (watch, fineness) in settled.watches {
            if let Some(conn) = self.watches.grant(now, watch, fineness, now) {
                self.wake(conn);
            }
        }
        for read in settled.reads {
            self.read_goes_on(now, read);
        }
        self.ask_before_opening(now);
        self.ask_audience(now);
        self.schedule_flush(now);
    }

    /// Asks the application what is to be asked.
    pub(super) fn ask_audience(&mut self, now: Time) {
        let Some(audience) = self.audience.as_mut() else { return };
        for (number, pairs) in audience.questions(now) {
            self.say(Output::Audience { number, pairs });
        }
    }

    /// What the application lets the viewer see, as far as it is known now.
    pub(super) fn allowed(
        &self,
        now: Time,
        purpose: Purpose,
        viewer: &str,
        user: &str,
    ) -> Fineness {
        match &self.audience {
            Some(audience) if viewer != user => audience.known(now, purpose, viewer, user),
            _ => Fineness::Live,
        }
    }

    /// Whether the user hides from everybody while that costs it the sight of others.
    pub(super) fn hides(&self, user: &str) -> bool {
        self.settings.reciprocal && self.directory.hides(user)
    }

    /// The mode of a user may be another: so may be what it sees.
    pub(super) fn look_again(&mut self, now: Time, user: &str) {
        if !self.settings.reciprocal {
            return;
        }
        let hides = self.hides(user);
        self.watches.set_hides(now, user, hides);
        self.ask_before_opening(now);
        self.schedule_flush(now);
    }
}
