//! The expectations of a file.

use greendot_protocol::State;

use super::fields::{Fields, nearest, span, state, whole};
use super::json::{Json, JsonKind};
use super::settings::FileSettings;
use super::step::LINKS;
use super::{FileError, Kind};

/// From when to when, in ms, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// From.
    pub from: u64,
    /// To.
    pub to: u64,
}

impl Window {
    /// The whole run.
    pub const ALL: Self = Self { from: 0, to: u64::MAX };

    /// Whether a time lies in it.
    pub fn holds(self, at: u64) -> bool {
        (self.from..=self.to).contains(&at)
    }
}

/// How many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// At least.
    pub least: u64,
    /// At most.
    pub most: u64,
}

/// A state that an app was shown, with when if the file says.
pub type ShownState = (State, Option<Window>);

/// An expectation; the words are the format's.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the format documents its expectations")]
pub enum Expect {
    Events {
        watcher: String,
        user: String,
        events: Vec<(State, Option<u64>, Window)>,
    },
    EventsInAll {
        watcher: String,
        count: Count,
        between: Window,
    },
    Ask {
        ask: String,
        user: String,
        state: Option<State>,
        version: Option<u64>,
        last_seen: Option<(u64, u64)>,
    },
    AskRepeated {
        ask: String,
        user: String,
        states: Vec<State>,
        rising: bool,
    },
    AskChanges {
        ask: String,
        changes: Vec<(String, State)>,
        full: Option<bool>,
    },
    Snapshot {
        watcher: String,
        nth: u64,
        user: String,
        state: Option<State>,
        version: Option<u64>,
    },
    NeverSent {
        watcher: String,
        text: String,
    },
    AskSame {
        asks: Vec<(String, Option<String>)>,
    },
    Sessions {
        user: String,
        at: u64,
        live: Option<u64>,
        lingering: Option<u64>,
        generations: Option<Vec<(String, u64)>>,
        nodes: Option<Vec<String>>,
    },
    LastSeen {
        user: String,
        at: u64,
        is: Window,
    },
    ConnClosed {
        conn: String,
        closed: String,
        at: Window,
    },
    ConnOpenAt {
        conn: String,
        at: u64,
    },
    ConnRefused {
        conn: String,
        refused: String,
    },
    Empty {
        at: u64,
    },
    Published {
        user: String,
        count: Count,
    },
    Outbox {
        who: String,
        at_most: u64,
        between: Window,
    },
    Memory {
        from: u64,
        to: u64,
        within: f64,
    },
    View {
        client: String,
        at: u64,
        users: Vec<(String, State, Option<u64>)>,
    },
    Shown {
        client: String,
        user: String,
        states: Vec<ShownState>,
    },
    NeverShown {
        client: String,
        user: String,
        never: Vec<State>,
    },
    Callbacks {
        client: String,
        part: Option<String>,
        count: Count,
        between: Window,
    },
    Link {
        client: String,
        at: u64,
        is: String,
        why: Option<String>,
    },
    Links {
        client: String,
        are: Vec<String>,
    },
    OpenAtOnce {
        client: String,
        at_most: u64,
    },
    Stale {
        client: String,
        at: u64,
        is: bool,
    },
    Dials {
        client: String,
        count: Count,
        between: Window,
    },
    DialPeak {
        node: String,
        slot: u64,
        at_most: u64,
    },
    Silence {
        session: String,
        at_most: u64,
        between: Window,
    },
    Beats {
        client: String,
        count: Count,
        between: Window,
    },
    Sent {
        client: String,
        frame: String,
        count: Count,
        between: Window,
    },
    Lease {
        session: String,
        ahead_at_least: u64,
        between: Window,
    },
    Writes {
        user: String,
        count: Count,
        between: Window,
    },
    Answered {
        conn: String,
        at: u64,
        is: String,
    },
    Conns {
        user: String,
        at: u64,
        is: u64,
    },
    Timers {
        client: String,
        same_at: Vec<u64>,
    },
    Ago {
        client: String,
        user: String,
        at: u64,
        is: Window,
    },
    List {
        list: String,
        online: Option<Vec<String>>,
        count: Option<u64>,
    },
    Room {
        room: String,
        at: u64,
        count: Option<u64>,
        members: Option<Vec<String>>,
    },
    Roster {
        conn: String,
        room: String,
        at: u64,
        members: Option<Vec<(String, State)>>,
        count: Option<u64>,
    },
    RosterFrames {
        conn: String,
        room: String,
        count: Count,
        between: Window,
    },
    Leaks {
        client: String,
        at: u64,
    },
    RefusedStart {
        settings: FileSettings,
        names: Vec<String>,
    },
}

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
    pub(super) fn parse(json: &Json, slack: u64) -> Result<Self, FileError> {
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
                        count: count(&json, "events_in_all")?,
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
            "published" => {
                Self::Published { user: fields.need_text(head)?, count: need_count(fields)? }
            }
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
                count: need_count(fields)?,
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
                count: need_count(fields)?,
                between: between(fields)?,
            },
            "sent" => Self::Sent {
                client: fields.client(head)?,
                frame: fields
                    .need_choice("frame", &super::step_frames::FRAMES.map(|it| (it, it)))?
                    .to_owned(),
                count: need_count(fields)?,
                between: between(fields)?,
            },
            "lease" => Self::Lease {
                session: fields.need_text(head)?,
                ahead_at_least: fields.need_time("ahead_at_least")?,
                between: between(fields)?,
            },
            "writes" => Self::Writes {
                user: fields.need_text(head)?,
                count: need_count(fields)?,
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
                        count: count(&json, "frames")?,
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

/// `t`: from `t` to `t + slack`; `[from, to]`: as it says.
fn window(json: &Json, key: &str, slack: u64) -> Result<Window, FileError> {
    let (from, to) = span(json, key)?;
    Ok(Window { from, to: to.unwrap_or(from + slack) })
}

/// `t`: within `exact` of it; `[from, to]`: as it says.
fn around(json: &Json, key: &str, exact: u64) -> Result<Window, FileError> {
    let (from, to) = span(json, key)?;
    Ok(match to {
        Some(to) => Window { from, to },
        None => Window { from: from.saturating_sub(exact), to: from + exact },
    })
}

fn between(fields: &mut Fields<'_>) -> Result<Window, FileError> {
    match fields.take("between") {
        None => Ok(Window::ALL),
        Some(json) => match span(&json, "between")? {
            (from, Some(to)) => Ok(Window { from, to }),
            _ => Err(FileError { line: json.line, text: "`between` is [from, to]".into() }),
        },
    }
}

/// `3`, `[1, 4]` or `{"at_most": 3}`.
fn count(json: &Json, key: &str) -> Result<Count, FileError> {
    match &json.kind {
        JsonKind::List(items) => match &items[..] {
            [least, most] => Ok(Count { least: whole(least, key)?, most: whole(most, key)? }),
            _ => Err(FileError {
                line: json.line,
                text: format!("`{key}` is a number or [least, most]"),
            }),
        },
        JsonKind::Map(_) => {
            let mut fields = Fields::of(json, "a count")?;
            let count = limits(&mut fields)?.ok_or_else(|| FileError {
                line: json.line,
                text: format!("`{key}` needs `at_most` or `at_least`"),
            })?;
            fields.finish()?;
            Ok(count)
        }
        _ => {
            let exact = whole(json, key)?;
            Ok(Count { least: exact, most: exact })
        }
    }
}

fn limits(fields: &mut Fields<'_>) -> Result<Option<Count>, FileError> {
    let least = fields.whole("at_least")?;
    let most = fields.whole("at_most")?;
    Ok((least.is_some() || most.is_some())
        .then(|| Count { least: least.unwrap_or(0), most: most.unwrap_or(u64::MAX) }))
}

fn need_count(fields: &mut Fields<'_>) -> Result<Count, FileError> {
    let line = fields.line();
    if let Some(json) = fields.take("count") {
        return count(&json, "count");
    }
    limits(fields)?.ok_or_else(|| FileError {
        line,
        text: "how many? `count`, `at_most` or `at_least`".into(),
    })
}

fn event(json: &Json, slack: u64) -> Result<(State, Option<u64>, Window), FileError> {
    let shape = || FileError { line: json.line, text: "an event is [state, version, time]".into() };
    let JsonKind::List(items) = &json.kind else { return Err(shape()) };
    let [what, version, at] = &items[..] else { return Err(shape()) };
    let version = match version.kind {
        JsonKind::Null => None,
        _ => Some(whole(version, "version")?),
    };
    Ok((state(what, "state")?, version, window(at, "time", slack)?))
}

fn ask_part(json: &Json) -> Result<(String, Option<String>), FileError> {
    let shape = || FileError {
        line: json.line,
        text: "`ask_same` lists names of asks, or [ask, user]".into(),
    };
    match &json.kind {
        JsonKind::Text(ask) => Ok((ask.clone(), None)),
        JsonKind::List(items) => match &items[..] {
            [Json { kind: JsonKind::Text(ask), .. }, Json { kind: JsonKind::Text(user), .. }] => {
                Ok((ask.clone(), Some(user.clone())))
            }
            _ => Err(shape()),
        },
        _ => Err(shape()),
    }
}

fn generations(fields: &mut Fields<'_>) -> Result<Option<Vec<(String, u64)>>, FileError> {
    let Some(json) = fields.take("generations") else { return Ok(None) };
    let JsonKind::Map(members) = &json.kind else {
        return Err(FileError {
            line: json.line,
            text: "`generations` is an object: session to rank".into(),
        });
    };
    members
        .iter()
        .map(|it| Ok((it.key.clone(), whole(&it.value, "generations")?)))
        .collect::<Result<_, FileError>>()
        .map(Some)
}

fn view_users(json: &Json) -> Result<Vec<(String, State, Option<u64>)>, FileError> {
    let JsonKind::Map(members) = &json.kind else {
        return Err(FileError {
            line: json.line,
            text: "`users` is an object: user to state, or to [state, version]".into(),
        });
    };
    members
        .iter()
        .map(|member| match &member.value.kind {
            JsonKind::List(items) => match &items[..] {
                [what, version] => Ok((
                    member.key.clone(),
                    state(what, "users")?,
                    Some(whole(version, "version")?),
                )),
                _ => Err(FileError {
                    line: member.line,
                    text: "a user's view is a state or [state, version]".into(),
                }),
            },
            _ => Ok((member.key.clone(), state(&member.value, "users")?, None)),
        })
        .collect()
}

fn shown(json: &Json) -> Result<ShownState, FileError> {
    match &json.kind {
        JsonKind::List(items) => match &items[..] {
            [what, from, to] => {
                let from = span(from, "from")?.0;
                let to = span(to, "to")?.0;
                Ok((state(what, "states")?, Some(Window { from, to })))
            }
            _ => Err(FileError {
                line: json.line,
                text: "a shown state is a state or [state, from, to]".into(),
            }),
        },
        _ => Ok((state(json, "states")?, None)),
    }
}

fn link_name(json: &Json) -> Result<String, FileError> {
    let known = LINKS.map(|(name, ())| (name, name));
    super::fields::choice(json, "is", &known).map(str::to_owned)
}

/// An object of users and their states.
fn user_states(json: &Json, key: &str) -> Result<Vec<(String, State)>, FileError> {
    let JsonKind::Map(members) = &json.kind else {
        let text = format!("`{key}` is an object: user to state");
        return Err(FileError { line: json.line, text });
    };
    members.iter().map(|it| Ok((it.key.clone(), state(&it.value, key)?))).collect()
}
