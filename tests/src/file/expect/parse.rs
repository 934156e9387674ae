//! Reading an expectation.

use greendot_protocol::{ClientKind, CloseCode};

use super::super::fields::{Fields, nearest, oddest, span, state};
use super::super::json::Json;
use super::super::settings::FileSettings;
use super::super::{FileError, Kind};
use super::values::*;
use super::{Expect, Window};

const ENGINE: u8 = Kind::Engine.bit();
const WORLD: u8 = Kind::World.bit();
const NODES: u8 = ENGINE | WORLD;
const CLIENT: u8 = WORLD | Kind::Sdk.bit();
const ALL: u8 = NODES | CLIENT;

/// The key that says what an expectation is about, and the kinds it is for.
const HEADS: &[(&str, u8)] = &[
    ("watcher", NODES),
    ("ask", NODES),
    ("snapshot", NODES),
    ("never_sent", NODES),
    ("ask_same", NODES),
    ("sessions", NODES),
    ("last_seen", NODES),
    ("conn", ENGINE),
    ("empty", NODES),
    ("published", NODES),
    ("outbox", NODES),
    ("memory", NODES),
    ("view", CLIENT),
    ("shown", CLIENT),
    ("callbacks", CLIENT),
    ("link", CLIENT),
    ("links", CLIENT),
    ("open_at_once", CLIENT),
    ("stale", CLIENT),
    ("dials", CLIENT),
    ("dial_peak", WORLD),
    ("silence", NODES),
    ("beats", CLIENT),
    ("sent", CLIENT),
    ("lease", NODES),
    ("writes", NODES),
    ("answered", ENGINE),
    ("conns", NODES),
    ("timers", CLIENT),
    ("ago", CLIENT),
    ("list", ENGINE),
    ("roster", NODES),
    ("room", NODES),
    ("leaks", CLIENT),
    ("refused_start", ALL),
];

/// The kinds of frames that clients send.
fn frames() -> Vec<(&'static str, &'static str)> {
    ClientKind::ALL.iter().map(|it| (it.name(), it.name())).collect()
}

/// The close codes of the protocol.
fn codes() -> Vec<(&'static str, CloseCode)> {
    CloseCode::ALL.iter().map(|it| (it.name(), *it)).collect()
}

/// How exact a time of last seen is, in ms.
const SEEN_EXACT: u64 = 1;

impl Expect {
    pub(in crate::file) fn parse(json: &Json, kind: Kind, slack: u64) -> Result<Self, FileError> {
        let wrong = |text| Err(FileError { line: json.line, text });
        let mut fields = Fields::of(json, "an expectation")?;
        // `ask` answers may be checked for `last_seen`: the head is the first in this order.
        let Some(&(head, kinds)) = HEADS.iter().find(|(head, _)| fields.has(head)) else {
            let here = HEADS.iter().filter(|it| it.1 & kind.bit() != 0).map(|it| it.0);
            let here: Vec<&str> = here.collect();
            let Some(odd) = oddest(fields.keys(), &here) else {
                return wrong(format!("an expectation is empty; known here: {}", here.join(", ")));
            };
            let near = nearest(odd, &here);
            let text = format!("an expectation that is not known: `{odd}`; {near}");
            return Err(FileError { line: fields.line_of(odd), text });
        };
        if kinds & kind.bit() == 0 {
            return wrong(format!("`{head}` is no expectation of kind `{}`", kind.name()));
        }
        let expect = Self::parse_head(head, &mut fields, kind, slack)?;
        fields.finish()?;
        Ok(expect)
    }

    fn parse_head(
        head: &'static str,
        fields: &mut Fields<'_>,
        kind: Kind,
        slack: u64,
    ) -> Result<Self, FileError> {
        Ok(match head {
            "watcher" => {
                let watcher = fields.need_text("watcher")?;
                match fields.take("events_in_all") {
                    Some(json) => Self::EventsInAll {
                        watcher,
                        count: exact_or_at_most(&json, "events_in_all")?,
                        between: between(fields)?,
                    },
                    None => Self::Events {
                        watcher,
                        user: fields.need_text("user")?,
                        events: fields
                            .need_list("events")?
                            .iter()
                            .map(|json| event(json, slack))
                            .collect::<Result<_, _>>()?,
                    },
                }
            }
            "ask" => Self::parse_ask(fields)?,
            "snapshot" => Self::Snapshot {
                watcher: fields.need_text(head)?,
                nth: fields.ordinal("nth")?.unwrap_or(1),
                user: fields.need_text("user")?,
                state: fields.state("state")?,
                version: fields.whole("version")?,
            },
            "never_sent" => Self::NeverSent {
                watcher: fields.need_text(head)?,
                text: fields.need_text("text")?,
            },
            "ask_same" => {
                let asks = fields.need_list(head)?;
                if asks.len() < 2 {
                    let text = "`ask_same` compares two answers or more".into();
                    return Err(FileError { line: fields.line(), text });
                }
                Self::AskSame { asks: asks.iter().map(ask_part).collect::<Result<_, _>>()? }
            }
            "sessions" => Self::Sessions {
                user: fields.need_text(head)?,
                at: fields.need_time("at")?,
                live: fields.whole("live")?,
                lingering: fields.whole("lingering")?,
                generations: generations(fields)?,
                nodes: fields.names("nodes")?,
            },
            "last_seen" => Self::LastSeen {
                user: fields.need_text(head)?,
                at: fields.need_time("at")?,
                is: around(&fields.need("is")?, "is", SEEN_EXACT)?,
            },
            "conn" => Self::parse_conn(fields, slack)?,
            "empty" => {
                fields.need_true(head)?;
                Self::Empty { at: fields.need_time("at")? }
            }
            "published" => Self::Published { user: fields.need_text(head)?, count: exact(fields)? },
            "outbox" => Self::Outbox {
                who: fields.need_text(head)?,
                at_most: fields.need_whole("at_most")?,
                between: between(fields)?,
            },
            "memory" => Self::parse_memory(fields)?,
            "view" => Self::View {
                client: fields.client(head, kind)?,
                at: fields.need_time("at")?,
                users: view_users(&fields.need("users")?)?,
            },
            "shown" => {
                let client = fields.client(head, kind)?;
                let user = fields.need_text("user")?;
                match fields.list("never")? {
                    Some(items) => Self::NeverShown {
                        client,
                        user,
                        never: items
                            .iter()
                            .map(|json| state(json, "never"))
                            .collect::<Result<_, _>>()?,
                    },
                    None => Self::Shown {
                        client,
                        user,
                        states: fields
                            .need_list("states")?
                            .iter()
                            .map(shown)
                            .collect::<Result<_, _>>()?,
                    },
                }
            }
            "callbacks" => Self::Callbacks {
                client: fields.client(head, kind)?,
                part: fields.text("part")?,
                count: exact(fields)?,
                between: between(fields)?,
            },
            "link" => Self::Link {
                client: fields.client(head, kind)?,
                at: fields.need_time("at")?,
                is: link_name(&fields.need("is")?)?,
                why: fields.choice("why", &codes())?,
            },
            "links" => Self::Links {
                client: fields.client(head, kind)?,
                are: fields.need_list("are")?.iter().map(link_name).collect::<Result<_, _>>()?,
            },
            "open_at_once" => Self::OpenAtOnce {
                client: fields.client(head, kind)?,
                at_most: fields.need_whole("at_most")?,
            },
            "stale" => {
                let line = fields.line();
                Self::Stale {
                    client: fields.client(head, kind)?,
                    at: fields.need_time("at")?,
                    is: fields.flag("is")?.ok_or_else(|| FileError {
                        line,
                        text: "`stale` needs `is`: true or false".into(),
                    })?,
                }
            }
            "dials" => Self::Dials {
                client: fields.client(head, kind)?,
                count: need_count(fields)?,
                between: between(fields)?,
            },
            "dial_peak" => Self::DialPeak {
                node: fields.need_text(head)?,
                slot: fields.need_length("slot")?,
                at_most: fields.need_whole("at_most")?,
            },
            "silence" => Self::Silence {
                session: fields.need_text(head)?,
                at_most: fields.need_time("at_most")?,
                between: between(fields)?,
            },
            "beats" => Self::Beats {
                client: fields.client(head, kind)?,
                count: exact_or_range(fields)?,
                between: between(fields)?,
            },
            "sent" => Self::Sent {
                client: fields.client(head, kind)?,
                frame: fields.need_choice("frame", &frames())?.to_owned(),
                count: exact(fields)?,
                between: between(fields)?,
            },
            "lease" => Self::Lease {
                session: fields.need_text(head)?,
                ahead_at_least: fields.need_time("ahead_at_least")?,
                between: between(fields)?,
            },
            "writes" => Self::Writes {
                user: fields.need_text(head)?,
                count: exact(fields)?,
                between: between(fields)?,
            },
            "answered" => Self::Answered {
                conn: fields.need_text(head)?,
                at: fields.need_time("at")?,
                is: answer(&fields.need("is")?)?,
            },
            "conns" => Self::Conns {
                user: fields.need_text(head)?,
                at: fields.need_time("at")?,
                is: fields.need_whole("is")?,
            },
            "timers" => {
                let client = fields.client(head, kind)?;
                let line = fields.line_of("same_at");
                let times = fields.need_list("same_at")?;
                if times.len() < 2 {
                    let text = "`same_at` compares two times or more".into();
                    return Err(FileError { line, text });
                }
                let same_at = times.iter().map(|json| Ok(span(json, "same_at")?.0));
                Self::Timers { client, same_at: same_at.collect::<Result<_, FileError>>()? }
            }
            "ago" => Self::Ago {
                client: fields.client(head, kind)?,
                user: fields.need_text("user")?,
                at: fields.need_time("at")?,
                is: around(&fields.need("is")?, "is", SEEN_EXACT)?,
            },
            "list" => Self::List {
                list: fields.need_text(head)?,
                online: fields.names("online")?,
                count: fields.whole("count")?,
            },
            "roster" => {
                let conn = fields.need_text(head)?;
                let room = fields.need_text("room")?;
                match fields.take("frames") {
                    Some(json) => Self::RosterFrames {
                        conn,
                        room,
                        count: exact_or_at_most(&json, "frames")?,
                        between: between(fields)?,
                    },
                    None => Self::Roster {
                        conn,
                        room,
                        at: fields.need_time("at")?,
                        members: fields
                            .take("members")
                            .map(|it| user_states(&it, "members"))
                            .transpose()?,
                        count: fields.whole("count")?,
                    },
                }
            }
            "room" => Self::Room {
                room: fields.need_text(head)?,
                at: fields.need_time("at")?,
                count: fields.whole("count")?,
                members: fields.names("members")?,
            },
            "leaks" => {
                Self::Leaks { client: fields.client(head, kind)?, at: fields.need_time("at")? }
            }
            _ => {
                let mut settings = FileSettings::new(Kind::Engine);
                let json = fields.need("refused_start")?;
                let mut inner = Fields::of(&json, "`refused_start`")?;
                settings.periods(&mut inner)?;
                settings.audience(&mut inner)?;
                inner.finish()?;
                Self::RefusedStart { settings, names: fields.need_names("names")? }
            }
        })
    }

    fn parse_memory(fields: &mut Fields<'_>) -> Result<Self, FileError> {
        let line = fields.line();
        let shape = |text: &str| FileError { line, text: text.into() };
        let (from, to) = span(&fields.need("memory")?, "memory")?;
        let to = to.ok_or_else(|| shape("`memory` is [from, to]: two times to compare"))?;
        match fields.number("within")? {
            Some(within) if (0.0..=1.0).contains(&within) => Ok(Self::Memory { from, to, within }),
            Some(_) => Err(shape("`within` is a share, from 0 to 1")),
            None => Err(shape("`memory` needs `within`: a share like 0.1")),
        }
    }

    fn parse_ask(fields: &mut Fields<'_>) -> Result<Self, FileError> {
        let ask = fields.need_text("ask")?;
        if let Some(json) = fields.take("changes") {
            let changes = user_states(&json, "changes")?;
            return Ok(Self::AskChanges { ask, changes, full: fields.flag("full")? });
        }
        let user = fields.need_text("user")?;
        if let Some(items) = fields.list("states")? {
            let states =
                items.iter().map(|json| state(json, "states")).collect::<Result<_, FileError>>()?;
            let rising = fields.choice("versions", &[("rising", true)])?.unwrap_or(false);
            return Ok(Self::AskRepeated { ask, user, states, rising });
        }
        Ok(Self::Ask {
            ask,
            user,
            state: fields.state("state")?,
            version: fields.whole("version")?,
            last_seen: fields
                .take("last_seen")
                .map(|json| around(&json, "last_seen", SEEN_EXACT).map(|it| (it.from, it.to)))
                .transpose()?,
        })
    }

    fn parse_conn(fields: &mut Fields<'_>, slack: u64) -> Result<Self, FileError> {
        let line = fields.line();
        let conn = fields.need_text("conn")?;
        if let Some(json) = fields.take("refused") {
            return Ok(Self::ConnRefused { conn, refused: code(&json, "refused")? });
        }
        if let Some(at) = fields.time("open_at")? {
            return Ok(Self::ConnOpenAt { conn, at });
        }
        let closed = fields.take("closed").ok_or_else(|| FileError {
            line,
            text: "a `conn` is expected to be `closed`, `refused` or open (`open_at`)".into(),
        })?;
        let closed = code(&closed, "closed")?;
        let at = match fields.take("at") {
            Some(json) => window(&json, "at", slack)?,
            None => Window::ALL,
        };
        Ok(Self::ConnClosed { conn, closed, at })
    }
}
