//! Who does not show itself to whom, kept by the one who looks.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use greendot_protocol::{Time, Version};

use super::Record;
use crate::store::{BarReport, OutlookReport};

/// What a viewer that was shut out at a moment is shown from then on: what it would see if the
/// user had said bye then (rule 13).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Screen {
    /// The version, in the viewer's numbering.
    pub version: Version,
    /// When the user was last seen.
    pub seen: Option<Time>,
    /// Whether the user had been visible in this epoch.
    pub heard: bool,
}

/// What stands, or stood, between a viewer and a user.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bar {
    /// What the viewer is shown while it stands.
    pub screen: Option<Screen>,
    /// By how much the viewer's numbering is behind the record's: changes that were hidden from it
    /// leave no gap, on a later connection either.
    pub behind: i64,
}

/// What stands between one viewer and others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlook {
    /// Of two outlooks of one viewer in one epoch the higher is the newer.
    pub number: u64,
    /// By the user's name.
    pub bars: HashMap<Arc<str>, Bar, foldhash::quality::FixedState>,
}

impl Outlook {
    /// What a shared store reported at `said`, on this node's clock.
    pub(crate) fn of(said: Time, report: &OutlookReport) -> Self {
        let bar = |it: &BarReport| Bar {
            behind: it.behind,
            screen: it.screen.map(|it| Screen {
                version: it.version,
                seen: it.seen_ago.map(|ago| said - ago),
                heard: it.heard,
            }),
        };
        let bars = report.bars.iter().map(|it| (Arc::clone(&it.user), bar(it))).collect();
        Self { number: report.number, bars }
    }
}

/// The outlooks of all viewers for whom anything is kept.
#[derive(Debug)]
pub(super) struct Outlooks {
    by_viewer: HashMap<Arc<str>, Arc<Outlook>, SeedableRandomState>,
    number: u64,
    nothing: Arc<Outlook>,
}

impl Outlooks {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            by_viewer: HashMap::with_hasher(SeedableRandomState::with_seed(
                seed,
                foldhash::SharedSeed::global_fixed(),
            )),
            number: 0,
            nothing: Arc::default(),
        }
    }

    pub(super) fn of(&self, viewer: &str) -> &Arc<Outlook> {
        self.by_viewer.get(viewer).unwrap_or(&self.nothing)
    }

    /// The number of a viewer's outlook: where nothing is kept, that of the latest of all, so that
    /// one that was taken away is known to be older.
    pub(super) fn number_of(&self, viewer: &str) -> u64 {
        self.by_viewer.get(viewer).map_or(self.number, |it| it.number)
    }

    /// The user shuts the viewer out, or lets it see again. `None` if nothing changes by it.
    pub(super) fn set(
        &mut self,
        now: Time,
        user: &str,
        viewer: &str,
        record: &Record,
        blocked: bool,
    ) -> Option<Arc<Outlook>> {
        let before = self.of(viewer).bars.get(user).copied().unwrap_or_default();
        let held = i64::from(record.public.version.0);
        let present = record.public.is_present();
        let after = match (before.screen, blocked) {
            (None, true) => {
                let shown = held - before.behind + i64::from(present);
                let version = Version(u32::try_from(shown.max(0)).unwrap_or(u32::MAX));
                let seen = if present { record.seen.max(Some(now)) } else { record.seen };
                Bar { screen: Some(Screen { version, seen, heard: record.heard }), ..before }
            }
            (Some(screen), false) => {
                let shown = i64::from(screen.version.0) + i64::from(present);
                Bar { screen: None, behind: held - shown }
            }
            _ => return None,
        };
        Some(self.put(user, viewer, after))
    }

    /// The viewer was shut out before this epoch began, and nothing is known of since when: from
    /// now on it sees one never heard from.
    pub(super) fn restore(&mut self, user: &str, viewer: &str) -> Option<Arc<Outlook>> {
        let before = self.of(viewer).bars.get(user).copied().unwrap_or_default();
        if before.screen.is_some() {
            return None;
        }
        Some(self.put(user, viewer, Bar { screen: Some(Screen::default()), ..before }))
    }

    fn put(&mut self, user: &str, viewer: &str, bar: Bar) -> Arc<Outlook> {
        self.number += 1;
        let mut outlook = Outlook::clone(self.of(viewer));
        outlook.number = self.number;
        if bar == Bar::default() {
            outlook.bars.remove(user);
        } else {
            outlook.bars.insert(user.into(), bar);
        }
        let outlook = Arc::new(outlook);
        if outlook.bars.is_empty() {
            self.by_viewer.remove(viewer);
        } else {
            self.by_viewer.insert(viewer.into(), Arc::clone(&outlook));
        }
        outlook
    }
}
