//! What a watch may show, and what happens when that changes (rule 13).

use std::sync::Arc;

use greendot_protocol::Time;
use greendot_protocol::sabotage::{Fault, on};

use super::onlooker::Onlookers;
use super::subject::Subject;
use super::{Shown, Under, Watch, WatchId, Watches};
use crate::core::directory::{Bar, Outlook, Screen};
use crate::core::gate::{Fineness, Glimpse, Light, Sight};
use crate::core::node::ConnId;
use crate::core::slab::{Id, Slab};

/// What everything is looked at through.
pub(super) struct Scene<'a> {
    pub(super) subjects: &'a Slab<Subject>,
    pub(super) onlookers: &'a Onlookers,
    pub(super) light: Light,
    pub(super) blind: bool,
    /// Above how many watchers a user is shown from afar.
    pub(super) throng: usize,
}

/// While the application is asked, nothing newer is shown. What the viewer would have been shown,
/// had it lost sight when the question arose.
#[derive(Debug, Default)]
pub(super) struct Pause {
    /// None if it had been shown nothing yet.
    screen: Option<Screen>,
    /// Whether the user looked present then.
    present: bool,
}

impl<'a> Scene<'a> {
    /// Whether all is known that it takes to show this watch, or is not to be had.
    pub(super) fn can_show(&self, watch: &Watch) -> bool {
        watch.pause.is_none() && (self.blind || self.is_loaded(watch))
    }

    fn is_loaded(&self, watch: &Watch) -> bool {
        if watch.awaits && watch.shown == Shown::NOTHING {
            return false;
        }
        let by_name = !watch.own && matches!(watch.under, Under::Number(_));
        let known = |it: &Subject| it.record.is_some() && !(by_name && it.asked);
        self.subjects.get(watch.subject).is_none_or(known) && (watch.own || self.sees(watch))
    }

    /// Whether it is known what stands between the viewer and others.
    fn sees(&self, watch: &Watch) -> bool {
        self.onlookers.get(watch.onlooker).is_some_and(|it| it.outlook.is_some())
    }

    fn sight(&self, watch: &Watch, user: &str) -> Sight {
        if watch.own {
            return Sight::OWN;
        }
        if let Some(screen) = &watch.shut {
            return Sight::PUBLIC.shut(**screen);
        }
        let onlooker = self.onlookers.get(watch.onlooker);
        if onlooker.is_none_or(|it| it.hides) {
            return Sight::PUBLIC.allowed(Fineness::Nothing);
        }
        let outlook = onlooker.and_then(|it| it.outlook.as_ref());
        let open = on(Fault::BlockIgnoredInRooms) && matches!(watch.under, Under::Seat(_));
        let outlook = outlook.filter(|_| !open);
        Sight::PUBLIC.allowed(watch.grant).through(outlook.and_then(|it| it.bars.get(user)))
    }

    /// What the watch may show now; `None` if its user is gone from the table.
    pub(super) fn glimpse(&self, watch: &Watch) -> Option<Glimpse<'a>> {
        let subject = self.subjects.get(watch.subject)?;
        if !self.is_loaded(watch) {
            return Some(Glimpse::unknown());
        }
        let record = subject.record.as_ref()?;
        let sight = self.sight(watch, &subject.name);
        if subject.many() > self.throng {
            return Some(Glimpse::of_afar(record, sight, self.light));
        }
        Some(Glimpse::of(record, sight, self.light))
    }
}

impl Watches {
    /// What stands between a viewer and others has changed, or has been loaded. `fresh`: nothing that is known of users
    /// is older.
    pub(crate) fn set_outlook(
        &mut self,
        now: Time,
        viewer: &str,
        outlook: &Arc<Outlook>,
        fresh: bool,
    ) {
        let Some(id) = self.onlookers.find(viewer) else { return };
        let held = self.onlookers.get(id).and_then(|it| it.outlook.as_ref());
        let newest = self.openings.outlook(id).or(held);
        if newest.is_some_and(|it| it.number >= outlook.number) {
            return;
        }
        if let Some(outlook) = self.hold_outlook(id, outlook, fresh) {
            self.look_through(now, id, outlook);
        }
    }

    /// What a viewer looks through from now on.
    pub(super) fn look_through(&mut self, now: Time, id: Id, outlook: Arc<Outlook>) {
        let Some(row) = self.onlookers.get_mut(id) else { return };
        let before = row.outlook.replace(Arc::clone(&outlook));
        let Some(before) = before else {
            // Whoever was shown unknown meanwhile is concerned.
            for watch in self.watches_of(id) {
                self.outboxes.mark(watch);
            }
            return;
        };
        for watch in self.watches_of(id) {
            let Some(row) = self.watches.get_mut(watch) else { continue };
            let Some(subject) = self.subjects.get(row.subject) else { continue };
            let bar = |of: &Outlook| of.bars.get(&*subject.name).copied().unwrap_or_default();
            let (was, is): (Bar, Bar) = (bar(&before), bar(&outlook));
            if was != is && !on(Fault::BlockUnheard) {
                row.renumber |= is.screen.is_none() && !on(Fault::BlockLeavesGap);
                self.touch(now, watch);
            }
        }
    }

    /// Whether the viewer hides from everybody, and so sees nobody.
    pub(crate) fn hides(&self, viewer: &str) -> bool {
        let row = self.onlookers.find(viewer).and_then(|it| self.onlookers.get(it));
        row.is_some_and(|it| it.hides)
    }

    /// The same, as it is from now on.
    pub(crate) fn set_hides(&mut self, now: Time, viewer: &str, hides: bool) {
        let Some(id) = self.onlookers.find(viewer) else { return };
        if hides {
            self.forget_showing(id);
        }
        if self.onlookers.get(id).is_none_or(|it| it.hides == hides) {
            return;
        }
        if !hides {
            if !self.hold_showing(id) {
                self.show_others(now, id);
            }
            return;
        }
        let watches = self.watches_of(id);
        for &watch in &watches {
            self.shut(now, watch);
        }
        if let Some(row) = self.onlookers.get_mut(id) {
            row.hides = true;
        }
        for watch in watches {
            self.touch(now, watch);
        }
    }

    /// Who hid from everybody, and does so no more, sees others again.
    pub(super) fn show_others(&mut self, now: Time, id: Id) {
        let Some(row) = self.onlookers.get_mut(id) else { return };
        row.hides = false;
        for watch in self.watches_of(id) {
            self.reopen(watch);
            if let Some(row) = self.watches.get_mut(watch) {
                row.renumber = true;
            }
            self.touch(now, watch);
        }
    }

    /// The application is being asked, or asked again, what this watch may show.
    pub(crate) fn pause(&mut self, now: Time, watch: WatchId) {
        let Some(row) = self.watches.get(watch.0) else { return };
        if row.own || row.pause.is_some() {
            return;
        }
        let glimpse = self.scene(now).glimpse(row);
        let pause = match glimpse {
            Some(it) if row.shown != Shown::NOTHING => {
                Pause { screen: Some(it.closing(now)), present: it.is_present() }
            }
            _ => Pause::default(),
        };
        if let Some(row) = self.watches.get_mut(watch.0) {
            row.pause = Some(Box::new(pause));
        }
    }

    /// The application has said what this watch may show, first at `said`, or has failed to. The connection, if it
    /// waits for that.
    pub(crate) fn grant(
        &mut self,
        now: Time,
        watch: WatchId,
        grant: Fineness,
        said: Time,
    ) -> Option<ConnId> {
        if self.watches.get(watch.0)?.own {
            return None;
        }
        if !self.hold_grant(watch.0, grant, said) {
            return self.let_see(now, watch.0, grant);
        }
        let row = self.watches.get_mut(watch.0)?;
        row.pause = None;
        let viewer = row.viewer;
        self.touch(now, watch.0);
        self.conn_of(viewer)
    }

    /// What a watch may show from now on. The connection, if it waits for that.
    pub(super) fn let_see(&mut self, now: Time, watch: Id, grant: Fineness) -> Option<ConnId> {
        let row = self.watches.get(watch)?;
        let conn = self.conn_of(row.viewer);
        let (before, seen) = (row.grant, row.shown != Shown::NOTHING);
        if grant == Fineness::Nothing && before != grant && seen && row.shut.is_none() {
            // As if the user had said bye now; what it did since the question arose stays unsaid.
            let screen = match &row.pause {
                Some(pause) => pause.screen.map(|screen| {
                    if pause.present { Screen { seen: Some(now), ..screen } } else { screen }
                }),
                None => self.scene(now).glimpse(row).map(|it| it.closing(now)),
            };
            let row = self.watches.get_mut(watch)?;
            row.shut = screen.map(Box::new);
        }
        let row = self.watches.get_mut(watch)?;
        row.grant = grant;
        row.awaits = false;
        row.pause = None;
        row.renumber |= seen && grant > before;
        if grant != Fineness::Nothing {
            self.reopen(watch);
        }
        self.touch(now, watch);
        conn
    }

    /// The viewer loses sight of the watch's user now.
    fn shut(&mut self, now: Time, watch: Id) {
        let Some(row) = self.watches.get(watch) else { return };
        if row.own || row.shut.is_some() || row.shown == Shown::NOTHING {
            return;
        }
        let screen = self.scene(now).glimpse(row).map(|it| it.closing(now));
        if let Some(row) = self.watches.get_mut(watch) {
            row.shut = screen.map(Box::new);
        }
    }

    /// One reason less not to see the watch's user.
    fn reopen(&mut self, watch: Id) {
        let Some(row) = self.watches.get_mut(watch) else { return };
        let hides = self.onlookers.get(row.onlooker).is_some_and(|it| it.hides);
        if row.shut.is_some() && !hides && row.grant != Fineness::Nothing {
            row.shut = None;
            row.renumber = true;
        }
    }

    /// All watches of one user's connections.
    pub(super) fn watches_of(&self, onlooker: Id) -> Vec<Id> {
        let viewers = self.onlookers.get(onlooker).map_or(&[][..], |it| &it.viewers);
        let mut watches: Vec<(u32, Id)> = viewers
            .iter()
            .filter_map(|it| self.viewers.get(it.0))
            .flat_map(|it| it.numbers.iter().map(|(&number, &watch)| (number, watch)))
            .collect();
        watches.sort_unstable();
        // Members of rooms behind the users watched by name.
        for seat in
            viewers.iter().filter_map(|it| self.viewers.get(it.0)).flat_map(|it| it.seats.values())
        {
            watches.extend(self.members_of(*seat).map(|it| (0, it)));
        }
        watches.into_iter().map(|it| it.1).collect()
    }
}
