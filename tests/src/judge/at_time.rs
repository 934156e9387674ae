//! Expectations about a moment: checked while the world stands at it.

use greendot_protocol::CloseCode;

use super::{Found, closing_words, or_none, words};
use crate::file::write::{quote, secs};
use crate::file::{Expect, Stated};
use crate::world::{NotBuilt, World};

/// What a look at a moment gave.
pub(super) enum Probe {
    Held,
    Failed(String),
    /// A value to be weighed at the end.
    Sample(u64),
}

pub(super) fn check(stated: &Stated, at: u64, world: &World<'_>) -> Result<Probe, NotBuilt> {
    let expect = &stated.expect;
    let found = match expect {
        Expect::Sessions { user, live, lingering, generations, nodes, .. } => {
            let sessions = world.sessions(user, nodes.as_deref());
            let lingers = sessions.iter().filter(|it| it.view.lingering).count() as u64;
            let lives = sessions.len() as u64 - lingers;
            let ranks: Vec<(String, u64)> = sessions
                .iter()
                .map(|it| (it.view.session.to_string(), world.rank(user, &it.view)))
                .collect();
            let right = live.is_none_or(|it| it == lives)
                && lingering.is_none_or(|it| it == lingers)
                && generations.as_ref().is_none_or(|wanted| same_set(wanted, &ranks));
            held(right, || {
                format!("{lives} live, {lingers} lingering, generations {}", rank_words(&ranks))
            })
        }
        Expect::LastSeen { user, is, .. } => {
            let seen = world.last_seen(user);
            held(seen.is_some_and(|it| is.holds(it)), || {
                or_none(seen, |it| format!("{} s", secs(it)))
            })
        }
        Expect::ConnOpenAt { conn, .. } => match world.raw(conn) {
            Some(raw) => {
                let closed = raw.closed();
                held(closed.is_none(), || or_none(closed, closing_words))
            }
            None => Err("no such connection".into()),
        },
        Expect::Empty { .. } => world.is_empty(),
        Expect::Conns { user, is, .. } => {
            let open = world.open_conns(user) as u64;
            held(open == *is, || format!("{open} open"))
        }
        Expect::View { client, users, .. } => {
            let device = world.device(client)?;
            users.iter().try_for_each(|(user, state, version)| {
                let (seen, number) = device.view(user);
                held(seen == *state && version.is_none_or(|it| it == u64::from(number)), || {
                    format!("{user} is {} at version {number}", seen.name())
                })
            })
        }
        Expect::Link { client, is, why, .. } => {
            let device = world.device(client)?;
            let (link, code) = device.link();
            let reason = CloseCode::from_number(code).map_or("", CloseCode::name);
            held(link == is && why.is_none_or(|it| it.number() == code), || {
                format!("{link}, why {code} {reason}")
            })
        }
        Expect::Stale { client, is, .. } => {
            let stale = world.device(client)?.is_stale();
            held(stale == *is, || format!("stale is {stale}"))
        }
        Expect::Ago { client, user, is, .. } => {
            let ago = world.device(client)?.ago(world.now(), user);
            held(ago.is_some_and(|it| is.holds(it)), || {
                or_none(ago, |it| format!("{} s ago", secs(it)))
            })
        }
        Expect::Room { room, count, members, .. } => {
            let (many, named) = world.roster(room);
            let right = count.is_none_or(|it| it == many as u64)
                && members.as_ref().is_none_or(|it| {
                    it.len() == named.len() && it.iter().all(|it| named.contains(it))
                });
            held(right, || format!("{many}: {named:?}"))
        }
        Expect::Roster { conn, room, members, count, .. } => {
            let seen = world.shown_roster(conn, room);
            let right = match (members, &seen) {
                (Some(members), Some(seen)) => {
                    members.len() == seen.members.len()
                        && members.iter().all(|it| seen.members.get(&it.0) == Some(&it.1))
                }
                (Some(_), None) => false,
                (None, _) => true,
            };
            let counted = seen.as_ref().and_then(|it| it.count);
            held(right && count.is_none_or(|it| counted == Some(it)), || format!("{seen:?}"))
        }
        Expect::Leaks { client, .. } => {
            let left = world.device(client)?.left_behind();
            held(left == 0, || format!("{left} timers, listeners and rows are left"))
        }
        Expect::Timers { client, .. } => {
            return Ok(Probe::Sample(world.device(client)?.timers() as u64));
        }
        Expect::Lease { session, ahead_at_least, .. } => {
            let ahead = world.lease_ahead(session);
            held(ahead.is_some_and(|it| it >= *ahead_at_least), || {
                or_none(ahead, |it| format!("the deadline is {} s ahead", secs(it)))
            })
        }
        _ => return Err(NotBuilt(format!("the expectation {}", words(stated)))),
    };
    Ok(match found {
        Ok(()) => Probe::Held,
        Err(seen) => Probe::Failed(format!("{} at {} s; seen: {seen}", words(stated), secs(at))),
    })
}

fn held(right: bool, seen: impl FnOnce() -> String) -> Found {
    if right { Ok(()) } else { Err(seen()) }
}

fn same_set(wanted: &[(String, u64)], seen: &[(String, u64)]) -> bool {
    wanted.len() == seen.len() && wanted.iter().all(|it| seen.contains(it))
}

fn rank_words(ranks: &[(String, u64)]) -> String {
    let ranks: Vec<String> =
        ranks.iter().map(|(id, rank)| format!("{}: {rank}", quote(id))).collect();
    format!("{{{}}}", ranks.join(", "))
}
