//! At quiet: all is healed, and every period has passed. Now everything is exact.

use std::collections::BTreeSet;

use greendot_client::core::LinkState;
use greendot_engine::core::NodeCounts;
use greendot_protocol::State;

use super::session::Leaving;
use super::{Found, Kind, Oracle, Place};
use crate::world::World;

impl Oracle<'_> {
    /// Whether nothing ails the world any more: then it becomes quiet in time.
    pub fn is_healed(&self) -> bool {
        (0..self.cluster.nodes.len()).all(|it| self.cluster.is_settled(it))
            && self.conns.iter().all(|it| !it.open || !it.stalled || it.left)
            && self
                .devices
                .iter()
                .all(|it| it.gone || (it.runs() && !it.offline && !it.hidden && !it.blackholed))
    }

    /// Looks at a world in which all is well again and has been for long enough.
    ///
    /// # Errors
    ///
    /// If anything is not as it must be then.
    pub fn look_at_quiet(&mut self, world: &World<'_>) -> Found {
        self.now = world.now();
        self.recheck_watches();
        self.alarm = 0;
        self.sound_alarm()?;
        self.look_at_devices(world, true)?;
        self.all_live(world)?;
        self.all_sessions(world)?;
        self.nothing_left(world)
    }

    fn all_live(&mut self, world: &World<'_>) -> Found {
        for (place, device) in self.devices.iter().enumerate() {
            let page = world.device_at(place);
            let Some(client) = page.client() else { continue };
            if matches!(device.link, LinkState::Closed | LinkState::Stopped) {
                continue;
            }
            if device.link != LinkState::Live || client.stale() {
                let text =
                    format!("{} is {:?}, stale {}", device.name, device.link, client.stale());
                return self.complain(Kind::StaleAtQuiet, text);
            }
            for interest in &device.interests {
                let user = &self.users[interest.user];
                let Some((state, _, note)) = page.shows(&user.name) else {
                    let text = format!("{} has no row for {}", device.name, user.name);
                    return self.complain(Kind::StaleAtQuiet, text);
                };
                if !self.is_right(place, interest.user, state, note) {
                    let conn = device.conn.map(|it| &self.conns[it]);
                    let (node, viewer) = conn.map_or((0, None), |it| (it.node, it.user));
                    let allowed = self.allowed(node, interest.user, viewer);
                    let text = format!(
                        "{} shows {} {} {note:?}; right is {}",
                        device.name,
                        user.name,
                        state.name(),
                        allowed.words()
                    );
                    let place = Place::View {
                        device: device.name.clone(),
                        user: user.name.clone(),
                        state: allowed.single().unwrap_or(State::Unknown),
                    };
                    return self.complain_at(Kind::ViewWrong, text, place);
                }
            }
            self.rooms_agree(device)?;
            self.choice_is_heard(device)?;
            let users: BTreeSet<usize> = device.interests.iter().map(|it| it.user).collect();
            let (rows, listeners) = (client.rows(), client.listeners());
            if rows != users.len() || listeners != device.interests.len() {
                let text = format!(
                    "{} holds {rows} rows and {listeners} listeners for {} users and {} interests",
                    device.name,
                    users.len(),
                    device.interests.len()
                );
                return self.complain(Kind::Leak, text);
            }
        }
        Ok(())
    }

    fn all_sessions(&self, world: &World<'_>) -> Found {
        for user in self.users.iter().filter(|it| !it.murky) {
            if user.sessions.iter().any(|it| !it.is_certain(self.now, &self.cluster)) {
                continue;
            }
            let mut right: Vec<(&str, bool)> =
                user.sessions.iter().map(|it| (&*it.name, it.leaving != Leaving::No)).collect();
            let held = world.sessions(&user.name, None);
            let mut seen: Vec<(&str, bool)> =
                held.iter().map(|it| (&*it.view.session, it.view.lingering)).collect();
            right.sort_unstable();
            seen.sort_unstable();
            if right != seen {
                let text = format!("{} has {seen:?} (lingering?); right is {right:?}", user.name);
                return self.complain(Kind::SessionsWrong, text);
            }
        }
        Ok(())
    }

    fn nothing_left(&self, world: &World<'_>) -> Found {
        if self.users.iter().any(|it| it.murky) {
            return Ok(());
        }
        for node in 0..self.cluster.nodes.len() {
            let Some(counts) = world.counts(node) else { continue };
            let sessions =
                self.users.iter().flat_map(|it| &it.sessions).filter(|it| it.node == node);
            if sessions.clone().any(|it| !it.is_certain(self.now, &self.cluster)) {
                continue;
            }
            let open = || {
                self.conns.iter().filter(move |it| it.node == node && it.open && it.user.is_some())
            };
            let Some(kept) = self.kept_at(node) else { continue };
            let watched: BTreeSet<usize> =
                open().flat_map(|it| &it.watches).map(|it| it.user).chain(kept.clone()).collect();
            let onlookers: BTreeSet<_> =
                open().filter(|it| it.has_watched).filter_map(|it| it.user).collect();
            let right = NodeCounts {
                sessions: sessions.clone().count(),
                leases: sessions.count(),
                conns: open().count(),
                watched: watched.len(),
                watches: open().map(|it| it.watches.len()).sum::<usize>() + kept.len(),
                viewers: open().filter(|it| it.has_watched).count(),
                onlookers: onlookers.len(),
                looks: 0,
                seats: open().map(|it| it.seats.len()).sum(),
                joins: 0,
                owners: open().filter(|it| it.own.is_some()).count(),
            };
            if counts != right {
                return self.complain(
                    Kind::Leak,
                    format!("the node holds {counts:?}; right is {right:?}"),
                );
            }
        }
        Ok(())
    }
}
