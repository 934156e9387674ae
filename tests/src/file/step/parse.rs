//! Reading a step.

use greendot_protocol::State;

use super::super::fields::{Fields, nearest, oddest, state, whole};
use super::super::json::{Json, JsonKind};
use super::super::range::Copy;
use super::super::{FileError, Kind};
use super::{Callback, FrameStep, LINKS, LinkAction, Stands, Step, Verb};

const ENGINE: u8 = Kind::Engine.bit();
const WORLD: u8 = Kind::World.bit();
const SDK: u8 = Kind::Sdk.bit();
const BOTH: u8 = ENGINE | WORLD;

/// How often one `ask` may read.
const READS: u64 = 100_000;

/// How often a second there may be input: times are whole milliseconds.
const MOST_INPUT: f64 = 1e3;

/// Every verb and the kinds it is for.
const VERBS: &[(&str, u8)] = &[
    ("watch", BOTH),
    ("unwatch", BOTH),
    ("hangup", BOTH),
    ("ask", BOTH),
    ("stall", BOTH),
    ("unstall", BOTH),
    ("renew", BOTH),
    ("connect", ENGINE),
    ("beat", ENGINE),
    ("idle", ENGINE),
    ("active", ENGINE),
    ("own", ENGINE),
    ("disown", ENGINE),
    ("note", BOTH),
    ("mode", BOTH),
    ("bye", ENGINE),
    ("closing", ENGINE),
    ("drop", ENGINE),
    ("vanish", ENGINE),
    ("mute", ENGINE),
    ("revoke", BOTH),
    ("block", BOTH),
    ("unblock", BOTH),
    ("kill", BOTH),
    ("start", BOTH),
    ("pause", BOTH),
    ("resume", BOTH),
    ("drain", BOTH),
    ("cut", BOTH),
    ("heal", BOTH),
    ("store", BOTH),
    ("skew", BOTH),
    ("lose_answers", WORLD),
    ("list", ENGINE),
    ("hold", ENGINE),
    ("room_join", BOTH),
    ("room_leave", BOTH),
    ("app_watch", WORLD | SDK),
    ("app_unwatch", WORLD | SDK),
    ("app_mode", WORLD),
    ("app_connect", WORLD),
    ("app_disconnect", WORLD),
    ("on", WORLD),
    ("open", WORLD),
    ("sign_out", WORLD),
    ("leave_page", WORLD),
    ("before_unload", WORLD),
    ("input", WORLD),
    ("hide", WORLD),
    ("show", WORLD),
    ("freeze", WORLD),
    ("thaw", WORLD),
    ("sleep", WORLD),
    ("wake", WORLD),
    ("cache_in", WORLD),
    ("cache_out", WORLD),
    ("offline", WORLD),
    ("online", WORLD),
    ("blackhole", WORLD),
    ("clear", WORLD),
    ("reset", WORLD),
    ("refuse", WORLD),
    ("frame", SDK),
    ("lost", SDK),
    ("back", SDK),
];

impl Step {
    /// Reads a step, or one of those that a range stands for.
    pub(in crate::file) fn parse(copy: &Copy, kind: Kind) -> Result<Self, FileError> {
        let json = &copy.json;
        let mut fields = Fields::of(json, "a step")?;
        let at = fields.need_time("t")?;
        let name = verb_name(&fields)?;
        let (_, kinds) = VERBS.iter().find(|(verb, _)| *verb == name).expect("named by verb_name");
        if kinds & kind.bit() == 0 {
            return Err(FileError {
                line: json.line,
                text: format!("`{name}` is no step of kind `{}`", kind.name()),
            });
        }
        let over_line = fields.line_of("over");
        let after = match (fields.time("over")?, copy.of) {
            (None, _) => 0,
            (Some(over), Some(count)) => {
                (over as f64 * copy.index as f64 / count as f64).round() as u64
            }
            (Some(_), None) => {
                return Err(FileError {
                    line: over_line,
                    text: "`over` spreads the steps of a range, and this step has none: name one, \
                           like \"c{1..100}\""
                        .into(),
                });
            }
        };
        let verb = Verb::parse(name, kind, &mut fields)?;
        fields.finish()?;
        Ok(Self { at: at + after, line: json.line, verb })
    }

    /// The nodes that it names.
    pub(crate) fn nodes(&self) -> Vec<&String> {
        match &self.verb {
            Verb::Watch { node, .. } | Verb::Connect { node, .. } => node.iter().collect(),
            Verb::Open { nodes, .. } => nodes.iter().collect(),
            Verb::Kill { node }
            | Verb::Start { node, .. }
            | Verb::Pause { node, .. }
            | Verb::Drain { node }
            | Verb::Cut { node, .. }
            | Verb::Hold { node, .. }
            | Verb::Refuse { node, .. } => vec![node],
            _ => Vec::new(),
        }
    }
}

fn verb_name(fields: &Fields<'_>) -> Result<&'static str, FileError> {
    let found: Vec<&'static str> =
        VERBS.iter().map(|(verb, _)| *verb).filter(|verb| fields.has(verb)).collect();
    match &found[..] {
        [one] => Ok(one),
        // `idle` and `active` are verbs; `frame` never stands beside another.
        [] => {
            let verbs: Vec<&str> = VERBS.iter().map(|(verb, _)| *verb).collect();
            let odd = oddest(fields.keys().filter(|key| *key != "t"), &verbs);
            let text = match odd {
                Some(odd) => format!("`{odd}`; {}", nearest(odd, &verbs)),
                None => format!("only `t`; known here: {}", verbs.join(", ")),
            };
            let text = format!("a step without a verb that is known: {text}");
            Err(FileError { line: odd.map_or(fields.line(), |it| fields.line_of(it)), text })
        }
        several => Err(FileError {
            line: fields.line(),
            text: format!("a step has just one verb; this one has {}", several.join(", ")),
        }),
    }
}

fn session_name(name: &str, line: usize) -> Result<(String, String), FileError> {
    match name.split_once('/') {
        Some((user, session)) if !user.is_empty() && !session.is_empty() => {
            Ok((user.into(), session.into()))
        }
        _ => Err(FileError { line, text: format!("\"{name}\" is no session: user/session") }),
    }
}

impl Verb {
    fn parse(name: &'static str, kind: Kind, fields: &mut Fields<'_>) -> Result<Self, FileError> {
        let line = fields.line();
        let text = |fields: &mut Fields<'_>| fields.need_text(name);
        Ok(match name {
            "watch" => Self::Watch {
                watcher: text(fields)?,
                users: fields.need_names("users")?,
                node: fields.text("node")?,
                token_until: fields.time("token_until")?,
            },
            "unwatch" => {
                Self::Unwatch { watcher: text(fields)?, users: fields.need_names("users")? }
            }
            "hangup" => Self::Hangup { watcher: text(fields)? },
            "ask" => Self::parse_ask(fields)?,
            "stall" => Self::Stall { watcher: text(fields)?, stalled: true },
            "unstall" => Self::Stall { watcher: text(fields)?, stalled: false },
            "renew" => Self::Renew { watcher: text(fields)? },
            "connect" => {
                let (user, session) = session_name(&text(fields)?, line)?;
                Self::Connect {
                    conn: fields.text("conn")?.unwrap_or_else(|| format!("{user}/{session}")),
                    user,
                    session,
                    node: fields.text("node")?,
                    passive: fields.flag("passive")?.unwrap_or(false),
                    idle: fields.choice("flag", &[("idle", true), ("active", false)])?,
                    beats: fields.flag("beats")?.unwrap_or(true),
                    fails: fields.choice("fails", &[("login", true)])?.unwrap_or(false),
                }
            }
            "beat" => Self::Beat { conn: text(fields)? },
            "idle" => Self::Idle { conn: text(fields)?, idle: true },
            "active" => Self::Idle { conn: text(fields)?, idle: false },
            "own" => Self::Own { conn: text(fields)?, on: true },
            "disown" => Self::Own { conn: text(fields)?, on: false },
            "note" => Self::Note { user: text(fields)?, note: fields.need_text("to")? },
            "mode" => Self::Mode { user: text(fields)?, mode: fields.need_mode("to")? },
            "bye" => Self::Bye { conn: text(fields)? },
            "closing" => Self::Closing { conn: text(fields)? },
            "drop" => Self::Drop { conn: text(fields)? },
            "vanish" => Self::Vanish { conn: text(fields)? },
            "mute" => Self::Mute { conn: text(fields)?, until: fields.need_time("until")? },
            "revoke" => Self::Revoke { user: text(fields)? },
            "block" | "unblock" => Self::Block {
                user: text(fields)?,
                viewer: fields.need_text("viewer")?,
                blocked: name == "block",
            },
            "kill" => Self::Kill { node: text(fields)? },
            "start" => {
                Self::Start { node: text(fields)?, empty: fields.flag("empty")?.unwrap_or(false) }
            }
            "pause" => Self::Pause { node: text(fields)?, paused: true },
            "resume" => Self::Pause { node: text(fields)?, paused: false },
            "drain" => Self::Drain { node: text(fields)? },
            "cut" => Self::Cut { node: text(fields)?, cut: true },
            "heal" => Self::Cut { node: text(fields)?, cut: false },
            "store" => {
                let known = Stands::ALL.map(|it| (it.name(), it));
                Self::Store { stands: fields.need_choice("store", &known)? }
            }
            "skew" => Self::Skew { who: text(fields)?, by: fields.signed_time("by")? },
            "lose_answers" => {
                Self::LoseAnswers { client: text(fields)?, until: fields.need_time("until")? }
            }
            "list" => Self::List { watcher: text(fields)?, name: fields.need_text("as")? },
            "hold" => Self::Hold { node: text(fields)?, until: fields.need_time("until")? },
            "room_join" | "room_leave" => Self::Room {
                who: text(fields)?,
                room: fields.need_text("room")?,
                join: name == "room_join",
            },
            "app_watch" => Self::AppWatch {
                client: fields.client(name, kind)?,
                users: fields.need_names("users")?,
                part: fields.text("part")?.unwrap_or_else(|| "p1".into()),
                callback: fields
                    .choice(
                        "callback",
                        &[("spoil", Callback::Spoil), ("throw_once", Callback::ThrowOnce)],
                    )?
                    .unwrap_or(Callback::Look),
            },
            "app_unwatch" => Self::AppUnwatch {
                client: fields.client(name, kind)?,
                users: fields.need_names("users")?,
                part: fields.text("part")?.unwrap_or_else(|| "p1".into()),
            },
            "app_mode" => Self::AppMode { client: text(fields)?, mode: fields.need_mode("to")? },
            "app_connect" => Self::AppConnect { client: text(fields)? },
            "app_disconnect" => Self::AppDisconnect { client: text(fields)? },
            "on" => Self::parse_on(fields)?,
            "open" => {
                let client = text(fields)?;
                session_name(&client, line)?;
                let nodes = match (fields.text("node")?, fields.names("nodes")?) {
                    (Some(_), Some(_)) => {
                        return Err(FileError {
                            line,
                            text: "`open` takes `node` or `nodes`, not both".into(),
                        });
                    }
                    (Some(node), None) => vec![node],
                    (None, Some(nodes)) => nodes,
                    (None, None) => Vec::new(),
                };
                Self::Open {
                    client,
                    nodes,
                    idle_after: fields.time("idle_after")?,
                    stored: fields.text("stored")?,
                    twin_of: fields.text("twin_of")?,
                }
            }
            "sign_out" => Self::SignOut { client: text(fields)? },
            "leave_page" => Self::LeavePage { client: text(fields)? },
            "before_unload" => Self::BeforeUnload { client: text(fields)? },
            "input" => Self::parse_input(fields)?,
            "hide" | "show" => Self::Hidden { client: text(fields)?, hidden: name == "hide" },
            "freeze" | "thaw" => Self::Frozen { client: text(fields)?, frozen: name == "freeze" },
            "sleep" | "wake" => Self::Asleep { client: text(fields)?, asleep: name == "sleep" },
            "cache_in" | "cache_out" => {
                Self::Cached { client: text(fields)?, cached: name == "cache_in" }
            }
            "offline" | "online" => {
                Self::Online { client: text(fields)?, online: name == "online" }
            }
            "blackhole" => Self::Blackhole { client: text(fields)? },
            "clear" => Self::Clear { client: text(fields)? },
            "reset" => Self::Reset {
                client: text(fields)?,
                server_sees: fields.time("server_sees")?.unwrap_or(0),
            },
            "refuse" => Self::Refuse { node: text(fields)?, until: fields.need_time("until")? },
            "frame" => Self::Frame(FrameStep::parse(&fields.need("frame")?)?),
            "lost" => {
                fields.need_true("lost")?;
                Self::Lost
            }
            _ => {
                fields.need_true("back")?;
                Self::Back
            }
        })
    }

    fn parse_ask(fields: &mut Fields<'_>) -> Result<Self, FileError> {
        let line = fields.line();
        let watcher = fields.need_text("ask")?;
        let users = fields.need_names("users")?;
        let name = fields.need_text("as")?;
        let since = fields.text("since")?;
        let repeat = fields.times("repeat", READS)?;
        let every = fields.time("every")?;
        let text = match (repeat, every) {
            (Some(2..), None) => "`repeat` needs `every`: how many seconds between two reads?",
            (None, Some(_)) => "`every` needs `repeat`: how many reads?",
            _ => {
                let (repeat, every) = (repeat.unwrap_or(1), every.unwrap_or(0));
                return Ok(Self::Ask { watcher, users, name, since, repeat, every });
            }
        };
        Err(FileError { line, text: text.into() })
    }

    fn parse_input(fields: &mut Fields<'_>) -> Result<Self, FileError> {
        let line = fields.line();
        let client = fields.need_text("input")?;
        let per_second = fields.number("per_second")?;
        let until = fields.time("until")?;
        let wrong = |text: &str| Err(FileError { line, text: text.into() });
        match (per_second, until) {
            (None, None) => Ok(Self::Input { client, per_second: 0.0, until: 0 }),
            (Some(per_second), Some(until)) if per_second > 0.0 && per_second <= MOST_INPUT => {
                Ok(Self::Input { client, per_second, until })
            }
            (Some(_), Some(_)) => {
                wrong(&format!("`per_second` must be more than 0, and {MOST_INPUT} at most"))
            }
            (Some(_), None) => wrong("`per_second` needs `until`: when does it end?"),
            (None, Some(_)) => wrong("`until` needs `per_second`: how often is there input?"),
        }
    }

    fn parse_on(fields: &mut Fields<'_>) -> Result<Self, FileError> {
        let client = fields.need_text("on")?;
        let known = LINKS.map(|(name, ())| (name, name));
        let state = fields.need_choice("state", &known)?.to_owned();
        let nth = fields.ordinal("nth")?.unwrap_or(1);
        let line = fields.line_of("do");
        let wanted = fields.need_list("do")?;
        if wanted.is_empty() {
            let text =
                "`do` is empty: the app would do nothing; known here: app_connect, app_disconnect";
            return Err(FileError { line, text: text.into() });
        }
        let actions = wanted
            .iter()
            .map(|json| {
                super::super::fields::choice(
                    json,
                    "do",
                    &[
                        ("app_connect", LinkAction::Connect),
                        ("app_disconnect", LinkAction::Disconnect),
                    ],
                )
            })
            .collect::<Result<_, _>>()?;
        Ok(Self::On { client, state, nth, actions })
    }
}

impl FrameStep {
    fn parse(json: &Json) -> Result<Self, FileError> {
        let mut fields = Fields::of(json, "a frame")?;
        let (snapshot, inner) = match (fields.take("snapshot"), fields.take("event")) {
            (Some(inner), None) => (true, inner),
            (None, Some(inner)) => (false, inner),
            _ => {
                return Err(FileError {
                    line: json.line,
                    text: "a frame is either a `snapshot` or an `event`".into(),
                });
            }
        };
        fields.finish()?;
        let mut fields = Fields::of(&inner, "a frame")?;
        let epoch = epoch(&mut fields)?;
        let entries = if snapshot {
            fields.need_list("entries")?.iter().map(entry).collect::<Result<_, _>>()?
        } else {
            vec![entry(&fields.need("entry")?)?]
        };
        fields.finish()?;
        Ok(Self { snapshot, epoch, entries })
    }
}

/// Epochs are opaque: a number or a text, in the file's words.
fn epoch(fields: &mut Fields<'_>) -> Result<String, FileError> {
    let json = fields.need("epoch")?;
    match json.kind {
        JsonKind::Number(_) | JsonKind::Text(_) => Ok(json.words()),
        _ => Err(FileError { line: json.line, text: "`epoch` is a number or a text".into() }),
    }
}

fn entry(json: &Json) -> Result<(String, State, u32), FileError> {
    let shape = || FileError { line: json.line, text: "an entry is [user, state, version]".into() };
    let JsonKind::List(items) = &json.kind else { return Err(shape()) };
    let [user, what, version] = &items[..] else { return Err(shape()) };
    let JsonKind::Text(user) = &user.kind else { return Err(shape()) };
    let version = match version.kind {
        JsonKind::Number(it) if it > f64::from(u32::MAX) => Err(FileError {
            line: json.line,
            text: format!(
                "`version` is {}; versions have 32 bits on the wire: {} at most",
                version.words(),
                u32::MAX
            ),
        }),
        _ => whole(version, "version").map(|it| it as u32),
    }?;
    Ok((user.clone(), state(what, "state")?, version))
}
