//! Reading an expectation.

use super::super::fields::{Fields, nearest, span, state};
use super::super::json::Json;
use super::super::settings::FileSettings;
use super::super::{FileError, Kind};
use super::values::*;
use super::{Expect, Window};

/// The key that says what an expectation is about.
const HEADS: &[&str] = &[
    "watcher",
    "ask",
    "snapshot",
    "never_sent",
    "ask_same",
    "sessions",
    "last_seen",
    "conn",
    "empty",
    "published",
    "outbox",
    "memory",
    "view",
    "shown",
    "callbacks",
    "link",
    "links",
    "open_at_once",
    "stale",
    "dials",
    "dial_peak",
    "silence",
    "beats",
    "sent",
    "lease",
    "writes",
    "answered",
    "conns",
    "timers",
    "ago",
    "list",
    "roster",
    "room",
    "leaks",
    "refused_start",
];

/// How exact a time of last seen is, in ms.
const SEEN_EXACT: u64 = 1;

impl Expect {
    pub(in crate::file) fn parse(json: &Json, slack: u64) -> Result<Self, FileError> {
        let mut fields = Fields::of(json, "an expectation")?;
        // `ask` answers may be checked for `last_seen`: the head is the first in this order.
        let Some(head) = HEADS.iter().copied().find(|head| fields.has(head)) else {
            let odd = fields.keys().next().unwrap_or("");
            return Err(FileError {
                line: json.line,
                text: format!("an expectation that is not known: `{odd}`; {}", nearest(odd, HEADS)),
            });
        };
        let expect = Self::parse_head(head, &mut fields, slack)?;
        fields.finish()?;
        Ok(expect)
    }

    fn parse_head(
        head: &'static str,
        fields: &mut Fields<'_>,
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
                nth: fields.whole("nth")?.unwrap_or(1),
                user: fields.need_text("user")?,
                state: fields.state("state")?,
                version: fields.whole("version")?,
            },
            "never_sent" => Self::NeverSent {
                watcher: fields.need_text(head)?,
                text: fields.need_text("text")?,
            },
            "ask_same" => Self::AskSame {
                asks: fields.need_list(head)?.iter().map(ask_part).collect::<Result<_, _>>()?,
            },
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
                fields.flag(head)?;
                Self::Empty { at: fields.need_time("at")? }
            }
            "published" => Self::Published { user: fields.need_text(head)?, count: exact(fields)? },
            "outbox" => Self::Outbox {
                who: fields.need_text(head)?,
                at_most: fields.need_whole("at_most")?,
                between: between(fields)?,
            },
            "memory" => {
                let (from, to) = span(&fields.need(head)?, head)?;
                let line = fields.line();
                let shape = || FileError {
                    line,
                    text: "`memory` is [from, to] and `within` a share like 0.1".into(),
                };
                Self::Memory {
                    from,
                    to: to.ok_or_else(shape)?,
                    within: fields.number("within")?.ok_or_else(shape)?,
                }
            }
            "view" => Self::View {
                client: fields.client(head)?,
                at: fields.need_time("at")?,
                users: view_users(&fields.need("users")?)?,
            },
            "shown" => {
                let client = fields.client(head)?;
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
                client: fields.client(head)?,
                part: fields.text("part")?,
                count: exact(fields)?,
                between: between(fields)?,
            },
            "link" => Self::Link {
                client: fields.client(head)?,
                at: fields.need_time("at")?,
                is: link_name(&fields.need("is")?)?,
                why: fields.text("why")?,
            },
            "links" => Self::Links {
                client: fields.client(head)?,
                are: fields.need_list("are")?.iter().map(link_name).collect::<Result<_, _>>()?,
            },
            "open_at_once" => Self::OpenAtOnce {
                client: fields.client(head)?,
                at_most: fields.need_whole("at_most")?,
            },
            "stale" => {
                let line = fields.line();
                Self::Stale {
                    client: fields.client(head)?,
                    at: fields.need_time("at")?,
                    is: fields.flag("is")?.ok_or_else(|| FileError {
                        line,
                        text: "`stale` needs `is`: true or false".into(),
                    })?,
                }
            }
            "dials" => Self::Dials {
                client: fields.client(head)?,
                count: need_count(fields)?,
                between: between(fields)?,
            },
            "dial_peak" => Self::DialPeak {
                node: fields.need_text(head)?,
                slot: fields.need_time("slot")?,
                at_most: fields.need_whole("at_most")?,
            },
            "silence" => Self::Silence {
                session: fields.need_text(head)?,
                at_most: fields.need_time("at_most")?,
                between: between(fields)?,
            },
            "beats" => Self::Beats {
                client: fields.client(head)?,
                count: exact_or_range(fields)?,
                between: between(fields)?,
            },
            "sent" => Self::Sent {
                client: fields.client(head)?,
                frame: fields
                    .need_choice("frame", &super::super::step_frames::FRAMES.map(|it| (it, it)))?
                    .to_owned(),
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
                is: fields.need_text("is")?,
            },
            "conns" => Self::Conns {
                user: fields.need_text(head)?,
                at: fields.need_time("at")?,
                is: fields.need_whole("is")?,
            },
            "timers" => Self::Timers {
                client: fields.client(head)?,
                same_at: fields
                    .need_list("same_at")?
                    .iter()
                    .map(|json| Ok(span(json, "same_at")?.0))
                    .collect::<Result<_, FileError>>()?,
            },
            "ago" => Self::Ago {
                client: fields.client(head)?,
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
            "leaks" => Self::Leaks { client: fields.client(head)?, at: fields.need_time("at")? },
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
        if let Some(refused) = fields.text("refused")? {
            return Ok(Self::ConnRefused { conn, refused });
        }
        if let Some(at) = fields.time("open_at")? {
            return Ok(Self::ConnOpenAt { conn, at });
        }
        let closed = fields.text("closed")?.ok_or_else(|| FileError {
            line,
            text: "a `conn` is expected to be `closed`, `refused` or open (`open_at`)".into(),
        })?;
        let at = match fields.take("at") {
            Some(json) => window(&json, "at", slack)?,
            None => Window::ALL,
        };
        Ok(Self::ConnClosed { conn, closed, at })
    }
}
