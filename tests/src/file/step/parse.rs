//! Reading a step.

use greendot_protocol::State;

use super::super::fields::{Fields, nearest, state, whole};
use super::super::json::{Json, JsonKind};
use super::super::{FileError, Kind};
use super::{Callback, FrameStep, LINKS, LinkAction, Step, Verb};

const ENGINE: u8 = 1;
const WORLD: u8 = 2;
const SDK: u8 = 4;
const BOTH: u8 = ENGINE | WORLD;

/// How often one `ask` may read.
const READS: u64 = 100_000;

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
    ("note", ENGINE),
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
    /// Reads the `index`th of `count` copies of a step.
    pub(in crate::file) fn parse(
        json: &Json,
        kind: Kind,
        index: usize,
        count: usize,
    ) -> Result<Self, FileError> {
        let mut fields = Fields::of(json, "a step")?;
        let at = fields.need_time("t")?;
        let name = verb_name(&fields)?;
        let (_, kinds) = VERBS.iter().find(|(verb, _)| *verb == name).expect("named by verb_name");
        let bit = match kind {
            Kind::Engine => ENGINE,
            Kind::Sdk => SDK,
            Kind::World => WORLD,
        };
        if kinds & bit == 0 {
            return Err(FileError {
                line: json.line,
                text: format!("`{name}` is no step of kind `{kind:?}`").to_lowercase(),
            });
        }
        let over = fields.time("over")?.unwrap_or(0);
        let verb = Verb::parse(name, &mut fields)?;
        fields.finish()?;
        let at = at + (over as f64 * index as f64 / count as f64).round() as u64;
        Ok(Self { at, line: json.line, verb })
    }

    /// Every node that a step names must be one of the file's.
    pub(crate) fn check_nodes(&self, nodes: &[String]) -> Result<(), FileError> {
        let named: Vec<&String> = match &self.verb {
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
        };
        match named.into_iter().find(|it| !nodes.contains(it)) {
            None => Ok(()),
            Some(node) => Err(FileError {
                line: self.line,
                text: format!("there is no node {node}; `nodes` names {}", nodes.join(", ")),
            }),
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
            let odd = fields.keys().find(|key| *key != "t").unwrap_or("");
            Err(FileError {
                line: fields.line(),
                text: format!(
                    "a step without a verb that is known: {}; {}",
                    if odd.is_empty() { "only `t`".into() } else { format!("`{odd}`") },
                    nearest(odd, &verbs)
                ),
            })
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
    fn parse(name: &'static str, fields: &mut Fields<'_>) -> Result<Self, FileError> {
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
            "ask" => Self::Ask {
                watcher: text(fields)?,
                users: fields.need_names("users")?,
                name: fields.need_text("as")?,
                since: fields.text("since")?,
                repeat: fields.times("repeat", READS)?.unwrap_or(1),
                every: fields.time("every")?.unwrap_or(0),
            },
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
                    idle: fields.choice("flag", &[("idle", true), ("active", false)])?
                        == Some(true),
                    beats: fields.flag("beats")?.unwrap_or(true),
                    fails: fields.choice("fails", &[("login", true)])?.unwrap_or(false),
                }
            }
            "beat" => Self::Beat { conn: text(fields)? },
            "idle" => Self::Idle { conn: text(fields)?, idle: true },
            "active" => Self::Idle { conn: text(fields)?, idle: false },
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
                Self::Store { up: fields.need_choice("store", &[("up", true), ("down", false)])? }
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
                client: fields.client(name)?,
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
                client: fields.client(name)?,
                users: fields.need_names("users")?,
                part: fields.text("part")?.unwrap_or_else(|| "p1".into()),
            },
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
            "input" => Self::Input {
                client: text(fields)?,
                per_second: fields.number("per_second")?.unwrap_or(0.0),
                until: fields.time("until")?.unwrap_or(0),
            },
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
                fields.flag("lost")?;
                Self::Lost
            }
            _ => {
                fields.flag("back")?;
                Self::Back
            }
        })
    }

    fn parse_on(fields: &mut Fields<'_>) -> Result<Self, FileError> {
        let client = fields.need_text("on")?;
        let known = LINKS.map(|(name, ())| (name, name));
        let state = fields.need_choice("state", &known)?.to_owned();
        let nth = fields.whole("nth")?.unwrap_or(1);
        let actions = fields
            .need_list("do")?
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
