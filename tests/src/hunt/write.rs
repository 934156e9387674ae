//! Writes a world as a scenario file, format 1.

use std::fmt::Write as _;

use crate::file::{FileSettings, Kind, LinkAction, Scenario, Verb};

/// The scenario file of a world, with a line that says why it is kept, and expectations that are
/// written already.
pub fn write(scenario: &Scenario, why: &str, expects: &[String]) -> String {
    let mut text = String::from("{\n");
    let kind = match scenario.kind {
        Kind::Engine => "engine",
        Kind::Sdk => "sdk",
        Kind::World => "world",
    };
    line(&mut text, "case", &quote(&scenario.case));
    line(&mut text, "title", &quote(&scenario.title));
    line(&mut text, "why", &quote(why));
    line(&mut text, "kind", &quote(kind));
    let settings = settings(&scenario.settings, scenario.kind);
    if !settings.is_empty() {
        line(&mut text, "settings", &format!("{{{}}}", settings.join(", ")));
    }
    if scenario.nodes.len() > 1 {
        line(&mut text, "nodes", &list(&scenario.nodes));
    }
    let steps: Vec<String> = scenario
        .steps
        .iter()
        .map(|it| format!("{{\"t\": {}, {}}}", secs(it.at), verb(&it.verb)))
        .collect();
    block(&mut text, "steps", &steps);
    text.push_str(",\n");
    line(&mut text, "until", &secs(scenario.until));
    block(&mut text, "expect", expects);
    text.push_str("\n}\n");
    text
}

fn line(text: &mut String, key: &str, value: &str) {
    let _ = writeln!(text, "  \"{key}\": {value},");
}

fn block(text: &mut String, key: &str, items: &[String]) {
    if items.is_empty() {
        let _ = write!(text, "  \"{key}\": []");
    } else {
        let _ = write!(text, "  \"{key}\": [\n    {}\n  ]", items.join(",\n    "));
    }
}

/// A time in seconds, as short as it can be said.
pub(super) fn secs(ms: u64) -> String {
    format!("{}", ms as f64 / 1e3)
}

pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|it| quote(it)).collect();
    format!("[{}]", quoted.join(", "))
}

fn settings(settings: &FileSettings, kind: Kind) -> Vec<String> {
    let plain = FileSettings::new(kind);
    let (engine, usual) = (&settings.engine, &plain.engine);
    let periods = [
        ("beat", engine.beat, usual.beat),
        ("ttl", engine.ttl, usual.ttl),
        ("grace", engine.grace, usual.grace),
        ("expiry_grace", engine.expiry_grace, usual.expiry_grace),
        ("sweep", engine.sweep, usual.sweep),
        ("tick", engine.tick, usual.tick),
        ("idle_after", engine.idle_after, usual.idle_after),
    ];
    let mut words: Vec<String> = periods
        .iter()
        .filter(|(_, it, usual)| it != usual)
        .map(|(key, it, _)| format!("\"{key}\": {}", secs(it.as_millis())))
        .collect();
    if let Some(warmup) = engine.warmup {
        words.push(format!("\"warmup\": {}", secs(warmup.as_millis())));
    }
    if settings.latency != plain.latency {
        words.push(format!("\"latency\": {}", secs(settings.latency)));
    }
    if settings.thin {
        words.push("\"thin\": true".into());
    }
    words
}

/// Pieces of a step, put together one after the other.
struct Words(String);

impl Words {
    fn of(verb: &str, subject: &str) -> Self {
        Self(format!("\"{verb}\": {}", quote(subject)))
    }

    fn raw(mut self, key: &str, value: &str) -> Self {
        let _ = write!(self.0, ", \"{key}\": {value}");
        self
    }

    fn text(self, key: &str, value: &str) -> Self {
        self.raw(key, &quote(value))
    }

    fn text_if(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    fn names(self, key: &str, names: &[String]) -> Self {
        self.raw(key, &list(names))
    }

    fn time(self, key: &str, ms: u64) -> Self {
        self.raw(key, &secs(ms))
    }

    fn flag(self, key: &str, value: bool, usual: bool) -> Self {
        if value == usual { self } else { self.raw(key, if value { "true" } else { "false" }) }
    }
}

/// A step's verb with its keys. The verbs that no hunt uses come out as their Rust names, which no
/// file is read with.
fn verb(verb: &Verb) -> String {
    let either = |is: bool, yes: &'static str, no: &'static str| if is { yes } else { no };
    let words = match verb {
        Verb::Watch { watcher, users, node, token_until } => {
            let words = Words::of("watch", watcher).names("users", users);
            let words = words.text_if("node", node.as_deref());
            match token_until {
                Some(until) => words.time("token_until", *until),
                None => words,
            }
        }
        Verb::Unwatch { watcher, users } => Words::of("unwatch", watcher).names("users", users),
        Verb::Hangup { watcher } => Words::of("hangup", watcher),
        Verb::Stall { watcher, stalled } => {
            Words::of(either(*stalled, "stall", "unstall"), watcher)
        }
        Verb::Connect { user, session, conn, node, passive, idle, beats, fails } => {
            Words::of("connect", &format!("{user}/{session}"))
                .text("conn", conn)
                .text_if("node", node.as_deref())
                .flag("passive", *passive, false)
                .text_if("flag", idle.then_some("idle"))
                .flag("beats", *beats, true)
                .text_if("fails", fails.then_some("login"))
        }
        Verb::Beat { conn } => Words::of("beat", conn),
        Verb::Idle { conn, idle } => Words::of(either(*idle, "idle", "active"), conn),
        Verb::Note { user, note } => Words::of("note", user).text("to", note),
        Verb::Mode { user, mode } => Words::of("mode", user).text("to", mode.name()),
        Verb::Bye { conn } => Words::of("bye", conn),
        Verb::Closing { conn } => Words::of("closing", conn),
        Verb::Drop { conn } => Words::of("drop", conn),
        Verb::Vanish { conn } => Words::of("vanish", conn),
        Verb::Mute { conn, until } => Words::of("mute", conn).time("until", *until),
        Verb::Revoke { user } => Words::of("revoke", user),
        Verb::Kill { node } => Words::of("kill", node),
        Verb::Start { node, empty } => Words::of("start", node).flag("empty", *empty, false),
        Verb::Pause { node, paused } => Words::of(either(*paused, "pause", "resume"), node),
        Verb::Drain { node } => Words::of("drain", node),
        Verb::Cut { node, cut } => Words::of(either(*cut, "cut", "heal"), node),
        Verb::Store { up } => Words::of("store", either(*up, "up", "down")),
        Verb::Skew { who, by } => {
            Words::of("skew", who).raw("by", &format!("{}", *by as f64 / 1e3))
        }
        Verb::LoseAnswers { client, until } => {
            Words::of("lose_answers", client).time("until", *until)
        }
        Verb::Hold { node, until } => Words::of("hold", node).time("until", *until),
        Verb::AppWatch { client, users, part, .. } => {
            Words::of("app_watch", client).names("users", users).text("part", part)
        }
        Verb::AppUnwatch { client, users, part } => {
            Words::of("app_unwatch", client).names("users", users).text("part", part)
        }
        Verb::AppConnect { client } => Words::of("app_connect", client),
        Verb::AppDisconnect { client } => Words::of("app_disconnect", client),
        Verb::On { client, state, nth, actions } => {
            let actions: Vec<String> = actions
                .iter()
                .map(|it| either(*it == LinkAction::Connect, "app_connect", "app_disconnect"))
                .map(str::to_owned)
                .collect();
            Words::of("on", client)
                .text("state", state)
                .raw("nth", &nth.to_string())
                .names("do", &actions)
        }
        Verb::Open { client, nodes, idle_after, stored, twin_of } => {
            let words = Words::of("open", client);
            let words = if nodes.is_empty() { words } else { words.names("nodes", nodes) };
            let words = match idle_after {
                Some(ms) => words.time("idle_after", *ms),
                None => words,
            };
            words.text_if("stored", stored.as_deref()).text_if("twin_of", twin_of.as_deref())
        }
        Verb::SignOut { client } => Words::of("sign_out", client),
        Verb::LeavePage { client } => Words::of("leave_page", client),
        Verb::BeforeUnload { client } => Words::of("before_unload", client),
        Verb::Input { client, per_second, until } => {
            let words = Words::of("input", client);
            if *per_second > 0.0 {
                words.raw("per_second", &per_second.to_string()).time("until", *until)
            } else {
                words
            }
        }
        Verb::Hidden { client, hidden } => Words::of(either(*hidden, "hide", "show"), client),
        Verb::Frozen { client, frozen } => Words::of(either(*frozen, "freeze", "thaw"), client),
        Verb::Asleep { client, asleep } => Words::of(either(*asleep, "sleep", "wake"), client),
        Verb::Cached { client, cached } => {
            Words::of(either(*cached, "cache_in", "cache_out"), client)
        }
        Verb::Online { client, online } => Words::of(either(*online, "online", "offline"), client),
        Verb::Blackhole { client } => Words::of("blackhole", client),
        Verb::Clear { client } => Words::of("clear", client),
        Verb::Reset { client, server_sees } => {
            let words = Words::of("reset", client);
            if *server_sees > 0 { words.time("server_sees", *server_sees) } else { words }
        }
        Verb::Refuse { node, until } => Words::of("refuse", node).time("until", *until),
        other => Words(quote(&format!("{other:?}"))),
    };
    words.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hunt::generate;

    #[test]
    fn every_hunted_world_can_be_written_and_read_back() {
        for seed in 0..500 {
            let world = generate::world(seed).scenario;
            let text = write(&world, "a \"test\"", &[]);
            let read = Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(format!("{:?}", read.settings), format!("{:?}", world.settings), "{text}");
            assert_eq!((read.nodes, read.until), (world.nodes, world.until));
            let verbs = |steps: &[crate::file::Step]| -> Vec<String> {
                steps.iter().map(|it| format!("{} {:?}", it.at, it.verb)).collect()
            };
            assert_eq!(verbs(&read.steps), verbs(&world.steps), "{text}");
        }
    }
}
