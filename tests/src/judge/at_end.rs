//! Expectations about the whole run: checked when it is over.

use greendot_protocol::State;

use super::{closing_words, or_none, words};
use crate::file::write::{quote, secs};
use crate::file::{Count, Expect, Stated, Window, end_name};
use crate::world::{Asked, NotBuilt, World};

/// What was seen instead, and where to look in the trace.
type Wrong = (String, Option<u64>);

pub(super) fn check(
    stated: &Stated,
    samples: &[u64],
    world: &World<'_>,
) -> Result<Result<(), Wrong>, NotBuilt> {
    let found = look(stated, samples, world)?;
    Ok(found.map_err(|(seen, at)| (format!("{}; seen: {seen}", words(stated)), at)))
}

fn look(
    stated: &Stated,
    samples: &[u64],
    world: &World<'_>,
) -> Result<Result<(), Wrong>, NotBuilt> {
    let expect = &stated.expect;
    let log = world.log();
    Ok(match expect {
        Expect::Events { watcher, user, events } => events_of(world, watcher, user, events),
        Expect::EventsInAll { watcher, count, between } => {
            let at = log.events.get(watcher).into_iter().flatten().map(|it| it.at);
            counted(at, *count, *between)
        }
        Expect::Ask { ask, user, state, version, last_seen } => {
            let Some(answer) = log.asks.get(ask).and_then(|it| it.first()?.get(user)) else {
                return Ok(Err(("no such answer".into(), None)));
            };
            let right = state.is_none_or(|it| it == answer.state)
                && version.is_none_or(|it| it == u64::from(answer.version))
                && last_seen.is_none_or(|(from, to)| {
                    answer.last_seen.is_some_and(|it| (from..=to).contains(&it))
                });
            held(right, || answer.to_string())
        }
        Expect::AskRepeated { ask, user, states, rising } => {
            let mut highest = 0;
            let mut right = true;
            let mut seen = Vec::new();
            for answer in log.asks.get(ask).into_iter().flatten().filter_map(|it| it.get(user)) {
                right &= states.contains(&answer.state);
                right &= !rising || answer.version >= highest;
                highest = highest.max(answer.version);
                let words = format!("[{}, {}]", answer.state.name(), answer.version);
                if seen.last() != Some(&words) {
                    seen.push(words);
                }
            }
            held(right && !seen.is_empty(), || format!("[{}]", seen.join(", ")))
        }
        Expect::AskChanges { ask, changes, full } => {
            let answer = log.asks.get(ask).and_then(|it| it.last());
            let was_full = log.full_asks.get(ask).copied();
            let right = answer.is_some_and(|answer| {
                answer.len() == changes.len()
                    && changes
                        .iter()
                        .all(|(user, state)| answer.get(user).is_some_and(|it| it.state == *state))
            });
            held(right && full.is_none_or(|it| was_full == Some(it)), || {
                format!("{answer:?}, full: {was_full:?}")
            })
        }
        Expect::RosterFrames { conn, room, count, between } => {
            let frames = world.raw(conn).and_then(|it| it.roster(room));
            let times = frames.map_or(&[][..], |it| &it.frames);
            counted(times.iter().copied(), *count, *between)
        }
        Expect::List { list, online, count } => {
            let listed = log.lists.get(list);
            let right = listed.is_some_and(|listed| {
                online.as_ref().is_none_or(|it| same_names(it, listed))
                    && count.is_none_or(|it| it == listed.len() as u64)
            });
            held(right, || format!("{listed:?}"))
        }
        Expect::Snapshot { watcher, nth, user, state, version } => {
            let snapshot =
                log.snapshots.get(watcher).and_then(|it| it.get((*nth as usize).checked_sub(1)?));
            let entry = snapshot.and_then(|it| it.entries.iter().find(|it| it.0 == *user));
            let right = entry.is_some_and(|(_, it, number)| {
                state.is_none_or(|state| state == *it)
                    && version.is_none_or(|version| version == u64::from(*number))
            });
            held(right, || {
                or_none(entry, |(_, state, version)| {
                    format!("{} at version {version}", state.name())
                })
            })
        }
        Expect::NeverSent { watcher, text } => {
            let frames = log.frames.get(watcher).into_iter().flatten();
            match frames.clone().find(|it| holds_word(it, text)) {
                Some(frame) => Err((frame.clone(), None)),
                None => held(frames.count() > 0, || "no frame at all".into()),
            }
        }
        Expect::AskSame { asks } => ask_same(world, asks),
        Expect::ConnClosed { conn, closed, at } => {
            let found = world.raw(conn).and_then(|it| it.closed());
            let right = found.is_some_and(|(when, code)| at.holds(when) && code == *closed);
            held(right, || found.map_or_else(|| "it is open".into(), closing_words))
        }
        Expect::ConnRefused { conn, refused } => {
            let raw = world.raw(conn);
            let right = raw.is_some_and(|it| {
                !it.welcomed() && it.closed().is_some_and(|(_, code)| code == *refused)
            });
            held(right, || match raw {
                None => "no such connection".into(),
                Some(raw) => {
                    let welcome = if raw.welcomed() { "a welcome, and then " } else { "" };
                    let end = raw.closed().map_or_else(|| "no end".into(), closing_words);
                    format!("{welcome}{end}")
                }
            })
        }
        Expect::Answered { conn, at, is } => answered(world, conn, *at, is),
        Expect::Outbox { who, at_most, between } => {
            let log = log.outboxes.get(who).map_or(&[][..], Vec::as_slice);
            // What waits, waits until something else does.
            let ends = log.iter().skip(1).map(|it| it.0).chain([u64::MAX]);
            let most = log
                .iter()
                .zip(ends)
                .filter(|((from, _), to)| *from <= between.to && *to >= between.from)
                .map(|((_, waiting), _)| *waiting as u64)
                .max();
            held(most.is_none_or(|it| it <= *at_most), || {
                or_none(most, |it| format!("{it} waiting"))
            })
        }
        Expect::Shown { client, user, states } => shown(world, client, user, states),
        Expect::NeverShown { client, user, never } => {
            let seen = shown_states(world, client, user);
            let bad = seen.iter().find(|(_, state)| never.contains(state));
            match bad {
                Some((at, state)) => {
                    Err((format!("{} at {} s", state.name(), secs(*at)), Some(*at)))
                }
                None => Ok(()),
            }
        }
        Expect::Callbacks { client, part, count, between } => {
            let log = world.device_log(client);
            let at = log
                .iter()
                .flat_map(|it| &it.callbacks)
                .filter(|it| part.as_ref().is_none_or(|part| *part == it.part))
                .map(|it| it.at);
            counted(at, *count, *between)
        }
        Expect::Links { client, are } => {
            let log = world.device_log(client);
            let seen: Vec<&str> = log.iter().flat_map(|it| &it.links).map(|it| it.1).collect();
            held(seen == *are, || format!("[{}]", seen.join(", ")))
        }
        Expect::OpenAtOnce { client, at_most } => {
            let most = world.device_log(client).map_or(0, |it| it.most_open as u64);
            held(most <= *at_most, || format!("{most} at once"))
        }
        Expect::Dials { client, count, between } => {
            let log = world.device_log(client);
            counted(log.iter().flat_map(|it| &it.dials).map(|it| it.0), *count, *between)
        }
        Expect::DialPeak { node, slot, at_most } => {
            let peak = peak(world, node, *slot);
            held(peak <= *at_most, || format!("{peak} dials in one slot"))
        }
        Expect::Silence { session, at_most, between } => {
            let longest = silence(world, session, *between);
            held(longest.is_some_and(|it| it <= *at_most), || {
                or_none(longest, |it| format!("{} s", secs(it)))
            })
        }
        Expect::Beats { client, count, between } => sent(world, client, "beat", *count, *between),
        Expect::Sent { client, frame, count, between } => {
            sent(world, client, frame, *count, *between)
        }
        Expect::Memory { within, .. } => {
            let (from, to) = (samples.first().copied(), samples.last().copied());
            let right = from
                .zip(to)
                .is_some_and(|(from, to)| from.abs_diff(to) as f64 <= from as f64 * within);
            held(right, || format!("{samples:?} bytes"))
        }
        Expect::Timers { .. } => {
            held(samples.windows(2).all(|it| it[0] == it[1]), || format!("{samples:?}"))
        }
        Expect::RefusedStart { settings, names } => match settings.engine.check() {
            Ok(()) => Err(("it starts".into(), None)),
            Err(error) => {
                let text = error.to_string();
                held(names.iter().all(|name| text.contains(name)), || text.clone())
            }
        },
        Expect::Published { user, count } => {
            counted(world.published(user).into_iter(), *count, Window::ALL)
        }
        Expect::Writes { user, count, between } => {
            counted(world.writes(user).into_iter(), *count, *between)
        }
        // Looked at in their time.
        Expect::Sessions { .. }
        | Expect::LastSeen { .. }
        | Expect::ConnOpenAt { .. }
        | Expect::Empty { .. }
        | Expect::View { .. }
        | Expect::Link { .. }
        | Expect::Stale { .. }
        | Expect::Lease { .. }
        | Expect::Conns { .. }
        | Expect::Ago { .. }
        | Expect::Room { .. }
        | Expect::Roster { .. }
        | Expect::Leaks { .. } => Ok(()),
    })
}

/// Whether a frame in words holds this one, or this value: what is only a part of a longer one
/// does not count.
fn holds_word(frame: &str, word: &str) -> bool {
    let quoted = quote(word);
    // As it stands in JSON.
    let word = quoted[1..quoted.len() - 1].to_lowercase();
    let frame = frame.to_lowercase();
    let ends = |it: Option<char>, of: Option<char>| {
        !(it.is_some_and(char::is_alphanumeric) && of.is_some_and(char::is_alphanumeric))
    };
    frame.match_indices(&word).any(|(at, _)| {
        let (before, after) = (&frame[..at], &frame[at + word.len()..]);
        ends(before.chars().next_back(), word.chars().next())
            && ends(after.chars().next(), word.chars().next_back())
    })
}

/// Whether what a connection said then was answered so, or the connection closed so, before or
/// because of it.
fn answered(world: &World<'_>, conn: &str, at: u64, is: &str) -> Result<(), Wrong> {
    let Some(raw) = world.raw(conn) else { return Err(("no such connection".into(), None)) };
    let by = at + world.answer_time();
    let closed = raw.closed().filter(|(when, _)| *when <= by).map(|(_, code)| end_name(code));
    let answers = raw.answers().iter().filter(|(when, _)| (at..=by).contains(when));
    let seen: Vec<&str> = answers.map(|it| it.1).chain(closed.as_deref()).collect();
    held(seen.contains(&is), || if seen.is_empty() { "nothing".into() } else { seen.join(", ") })
}

/// Times in seconds, the last few of many.
fn time_words(times: &[u64]) -> String {
    let skipped = times.len().saturating_sub(20);
    let shown: Vec<String> = times[skipped..].iter().map(|&it| secs(it)).collect();
    format!("{}{}", if skipped > 0 { "…, " } else { "" }, shown.join(", "))
}

fn same_names(wanted: &[String], seen: &[String]) -> bool {
    wanted.len() == seen.len() && wanted.iter().all(|it| seen.contains(it))
}

fn held(right: bool, seen: impl FnOnce() -> String) -> Result<(), Wrong> {
    if right { Ok(()) } else { Err((seen(), None)) }
}

fn counted(times: impl Iterator<Item = u64>, count: Count, between: Window) -> Result<(), Wrong> {
    let times: Vec<u64> = times.filter(|at| between.holds(*at)).collect();
    let many = times.len() as u64;
    if (count.least..=count.most).contains(&many) {
        return Ok(());
    }
    let seen = match &times[..] {
        [] => "0".into(),
        times => format!("{many}, at {} s", time_words(times)),
    };
    Err((seen, times.last().copied()))
}

fn events_of(
    world: &World<'_>,
    watcher: &str,
    user: &str,
    wanted: &[(State, Option<u64>, Window)],
) -> Result<(), Wrong> {
    let seen: Vec<_> = world
        .log()
        .events
        .get(watcher)
        .into_iter()
        .flatten()
        .filter(|it| it.user == user)
        .collect();
    let mut right = seen.len() == wanted.len();
    let mut first_wrong = None;
    for (index, event) in seen.iter().enumerate() {
        let before = index.checked_sub(1).map(|it| seen[it]);
        // Where the file names no version: in a new epoch they may begin anew (rules 8, 10).
        let rises = before.is_none_or(|it| {
            (it.conn, it.epoch) != (event.conn, event.epoch) || event.version > it.version
        });
        let fits = wanted.get(index).is_some_and(|(state, version, window)| {
            *state == event.state
                && version.map_or(rises, |it| it == u64::from(event.version))
                && window.holds(event.at)
        });
        if !fits {
            right = false;
            first_wrong.get_or_insert(event.at);
        }
    }
    if right {
        return Ok(());
    }
    let words: Vec<String> = seen
        .iter()
        .map(|it| format!("[{}, {}, {}]", it.state.name(), it.version, it.at as f64 / 1e3))
        .collect();
    let at = first_wrong.or_else(|| wanted.get(seen.len()).map(|it| it.2.from));
    Err((format!("[{}]", words.join(", ")), at))
}

fn ask_same(world: &World<'_>, asks: &[(String, Option<String>)]) -> Result<(), Wrong> {
    let mut answers = Vec::new();
    for (ask, user) in asks {
        let Some(answer) = world.log().asks.get(ask).and_then(|it| it.first()) else {
            return Err((format!("there is no answer {ask}"), None));
        };
        answers.push(match user {
            Some(user) => answer.get(user).cloned().into_iter().collect::<Vec<_>>(),
            None => answer.values().cloned().collect(),
        });
    }
    held(answers.windows(2).all(|it| it[0] == it[1]), || {
        let words: Vec<String> = answers
            .iter()
            .map(|answer| answer.iter().map(Asked::to_string).collect::<Vec<_>>().join(", "))
            .collect();
        words.join(" and ")
    })
}

/// The states that an app was shown, repeats folded, `unknown` at the start left out.
fn shown_states(world: &World<'_>, client: &str, user: &str) -> Vec<(u64, State)> {
    let mut states: Vec<(u64, State)> = Vec::new();
    for it in world.device_log(client).iter().flat_map(|it| &it.callbacks) {
        let first = states.is_empty() && it.state == State::Unknown;
        if it.user == user && !first && states.last().map(|it| it.1) != Some(it.state) {
            states.push((it.at, it.state));
        }
    }
    states
}

fn shown(
    world: &World<'_>,
    client: &str,
    user: &str,
    wanted: &[crate::file::ShownState],
) -> Result<(), Wrong> {
    let seen = shown_states(world, client, user);
    let right = seen.len() == wanted.len()
        && seen.iter().zip(wanted).all(|((at, state), (want, window))| {
            state == want && window.is_none_or(|it| it.holds(*at))
        });
    held(right, || {
        let words: Vec<String> =
            seen.iter().map(|(at, it)| format!("{} at {}", it.name(), *at as f64 / 1e3)).collect();
        words.join(", ")
    })
}

fn peak(world: &World<'_>, node: &str, slot: u64) -> u64 {
    let mut times: Vec<u64> = world
        .log()
        .devices
        .values()
        .flat_map(|it| &it.dials)
        .filter(|(_, to)| world.node_name(*to) == node)
        .map(|it| it.0)
        .collect();
    times.sort_unstable();
    let mut first = 0;
    let mut most = 0;
    for (last, at) in times.iter().enumerate() {
        while times[first] + slot <= *at {
            first += 1;
        }
        most = most.max(last - first + 1);
    }
    most as u64
}

fn silence(world: &World<'_>, session: &str, between: Window) -> Option<u64> {
    let (user, session) = session.split_once('/')?;
    let heard = world.log().heard.get(&(user.to_owned(), session.to_owned()))?;
    let within: Vec<u64> = heard.iter().copied().filter(|at| between.holds(*at)).collect();
    let start = heard.iter().copied().filter(|at| *at <= between.from).max();
    let start = start.or(within.first().copied())?;
    let mut longest = 0;
    let mut before = start.max(between.from);
    for at in within.into_iter().chain([between.to.min(world.now())]) {
        longest = longest.max(at.saturating_sub(before));
        before = at;
    }
    Some(longest)
}

fn sent(
    world: &World<'_>,
    client: &str,
    frame: &str,
    count: Count,
    between: Window,
) -> Result<(), Wrong> {
    let log = world.device_log(client);
    let times = log.iter().flat_map(|it| &it.sent).filter(|it| it.1 == frame).map(|it| it.0);
    counted(times, count, between)
}
