//! Writes in the words of the format: whole scenario files, and steps and times for people.

use std::fmt::{self, Write as _};

use super::{Callback, FileSettings, FrameStep, Kind, LinkAction, Scenario, Step, Verb};

/// The scenario file of a script, with a line that says why it is kept, and expectations that are
/// written already.
pub(crate) fn write(scenario: &Scenario, why: &str, expects: &[String]) -> String {
    let mut text = String::from("{\n");
    line(&mut text, "case", &quote(&scenario.case));
    line(&mut text, "title", &quote(&scenario.title));
    line(&mut text, "why", &quote(why));
    line(&mut text, "kind", &quote(scenario.kind.name()));
    let settings = settings(&scenario.settings, scenario.kind);
    if !settings.is_empty() {
        line(&mut text, "settings", &format!("{{{}}}", settings.join(", ")));
    }
    if scenario.nodes.len() > 1 {
        line(&mut text, "nodes", &list(&scenario.nodes));
    }
    let steps: Vec<String> = scenario.steps.iter().map(Step::to_string).collect();
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
pub(crate) fn secs(ms: u64) -> String {
    format!("{}", ms as f64 / 1e3)
}

pub(crate) fn quote(text: &str) -> String {
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
    if engine.room_limit != usual.room_limit {
        words.push(format!("\"room_limit\": {}", engine.room_limit));
    }
    if engine.crowd_limit != usual.crowd_limit {
        words.push(format!("\"crowd_limit\": {}", engine.crowd_limit));
    }
    if engine.crowd_every != usual.crowd_every {
        words.push(format!("\"crowd_every\": {}", secs(engine.crowd_every.as_millis())));
    }
    if engine.reciprocal {
        words.push("\"reciprocal\": true".into());
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

    fn time_if(self, key: &str, ms: Option<u64>) -> Self {
        match ms {
            Some(ms) => self.time(key, ms),
            None => self,
        }
    }

    fn flag(self, key: &str, value: bool, usual: bool) -> Self {
        if value == usual { self } else { self.raw(key, if value { "true" } else { "false" }) }
    }
}

impl fmt::Display for Step {
    /// As it stands in a file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{\"t\": {}, {}}}", secs(self.at), words(&self.verb))
    }
}

/// A verb's key, and whom or what the step is about.
pub(crate) fn head(verb: &Verb) -> (&'static str, &str) {
    let either = |is: bool, yes: &'static str, no: &'static str| if is { yes } else { no };
    match verb {
        Verb::Watch { watcher, .. } => ("watch", watcher),
        Verb::Unwatch { watcher, .. } => ("unwatch", watcher),
        Verb::Hangup { watcher } => ("hangup", watcher),
        Verb::Ask { watcher, .. } => ("ask", watcher),
        Verb::Stall { watcher, stalled } => (either(*stalled, "stall", "unstall"), watcher),
        Verb::Renew { watcher } => ("renew", watcher),
        Verb::Connect { conn, .. } => ("connect", conn),
        Verb::Beat { conn } => ("beat", conn),
        Verb::Idle { conn, idle } => (either(*idle, "idle", "active"), conn),
        Verb::Own { conn, on } => (either(*on, "own", "disown"), conn),
        Verb::Note { user, .. } => ("note", user),
        Verb::Mode { user, .. } => ("mode", user),
        Verb::Bye { conn } => ("bye", conn),
        Verb::Closing { conn } => ("closing", conn),
        Verb::Drop { conn } => ("drop", conn),
        Verb::Vanish { conn } => ("vanish", conn),
        Verb::Mute { conn, .. } => ("mute", conn),
        Verb::Revoke { user } => ("revoke", user),
        Verb::Block { user, blocked, .. } => (either(*blocked, "block", "unblock"), user),
        Verb::Kill { node } => ("kill", node),
        Verb::Start { node, .. } => ("start", node),
        Verb::Pause { node, paused } => (either(*paused, "pause", "resume"), node),
        Verb::Drain { node } => ("drain", node),
        Verb::Cut { node, cut } => (either(*cut, "cut", "heal"), node),
        Verb::Store { stands } => ("store", stands.name()),
        Verb::Skew { who, .. } => ("skew", who),
        Verb::LoseAnswers { client, .. } => ("lose_answers", client),
        Verb::List { watcher, .. } => ("list", watcher),
        Verb::Hold { node, .. } => ("hold", node),
        Verb::Room { who, join, .. } => (either(*join, "room_join", "room_leave"), who),
        Verb::AppWatch { client, .. } => ("app_watch", client),
        Verb::AppUnwatch { client, .. } => ("app_unwatch", client),
        Verb::AppMode { client, .. } => ("app_mode", client),
        Verb::AppConnect { client } => ("app_connect", client),
        Verb::AppDisconnect { client } => ("app_disconnect", client),
        Verb::On { client, .. } => ("on", client),
        Verb::Open { client, .. } => ("open", client),
        Verb::SignOut { client } => ("sign_out", client),
        Verb::LeavePage { client } => ("leave_page", client),
        Verb::BeforeUnload { client } => ("before_unload", client),
        Verb::Input { client, .. } => ("input", client),
        Verb::Hidden { client, hidden } => (either(*hidden, "hide", "show"), client),
        Verb::Frozen { client, frozen } => (either(*frozen, "freeze", "thaw"), client),
        Verb::Asleep { client, asleep } => (either(*asleep, "sleep", "wake"), client),
        Verb::Cached { client, cached } => (either(*cached, "cache_in", "cache_out"), client),
        Verb::Online { client, online } => (either(*online, "online", "offline"), client),
        Verb::Blackhole { client } => ("blackhole", client),
        Verb::Clear { client } => ("clear", client),
        Verb::Reset { client, .. } => ("reset", client),
        Verb::Refuse { node, .. } => ("refuse", node),
        Verb::Frame(_) => ("frame", ""),
        Verb::Lost => ("lost", ""),
        Verb::Back => ("back", ""),
    }
}

/// A step's verb with its keys, as it stands in a file.
pub(crate) fn words(verb: &Verb) -> String {
    let (name, subject) = head(verb);
    let words = match verb {
        // One client and no name: see the format.
        Verb::Lost | Verb::Back => Words(format!("\"{name}\": true")),
        Verb::Frame(frame) => Words(format!("\"frame\": {}", frame_words(frame))),
        Verb::Connect { user, session, .. } => Words::of(name, &format!("{user}/{session}")),
        Verb::AppWatch { client, .. } | Verb::AppUnwatch { client, .. } if client.is_empty() => {
            Words(format!("\"{name}\": true"))
        }
        _ => Words::of(name, subject),
    };
    match verb {
        Verb::Watch { users, node, token_until, .. } => words
            .names("users", users)
            .text_if("node", node.as_deref())
            .time_if("token_until", *token_until),
        Verb::Unwatch { users, .. } => words.names("users", users),
        Verb::Ask { users, name, since, repeat, every, .. } => {
            let words = words.names("users", users).text("as", name);
            let words = words.text_if("since", since.as_deref());
            if *repeat == 1 {
                words
            } else {
                words.raw("repeat", &repeat.to_string()).time("every", *every)
            }
        }
        Verb::List { name, .. } => words.text("as", name),
        Verb::Connect { conn, node, passive, idle, beats, fails, .. } => words
            .text("conn", conn)
            .text_if("node", node.as_deref())
            .flag("passive", *passive, false)
            .text_if("flag", idle.map(|it| if it { "idle" } else { "active" }))
            .flag("beats", *beats, true)
            .text_if("fails", fails.then_some("login")),
        Verb::Note { note, .. } => words.text("to", note),
        Verb::Mode { mode, .. } | Verb::AppMode { mode, .. } => words.text("to", mode.name()),
        Verb::Block { viewer, .. } => words.text("viewer", viewer),
        Verb::Mute { until, .. }
        | Verb::LoseAnswers { until, .. }
        | Verb::Hold { until, .. }
        | Verb::Refuse { until, .. } => words.time("until", *until),
        Verb::Start { empty, .. } => words.flag("empty", *empty, false),
        Verb::Skew { by, .. } => words.raw("by", &format!("{}", *by as f64 / 1e3)),
        Verb::Room { room, .. } => words.text("room", room),
        Verb::AppWatch { users, part, callback, .. } => {
            let words = words.names("users", users).text("part", part);
            match callback {
                Callback::Look => words,
                Callback::Spoil => words.text("callback", "spoil"),
                Callback::ThrowOnce => words.text("callback", "throw_once"),
            }
        }
        Verb::AppUnwatch { users, part, .. } => words.names("users", users).text("part", part),
        Verb::On { state, nth, actions, .. } => {
            let actions: Vec<String> = actions
                .iter()
                .map(|it| match it {
                    LinkAction::Connect => "app_connect".to_owned(),
                    LinkAction::Disconnect => "app_disconnect".to_owned(),
                })
                .collect();
            words.text("state", state).raw("nth", &nth.to_string()).names("do", &actions)
        }
        Verb::Open { nodes, idle_after, stored, twin_of, .. } => {
            let words = if nodes.is_empty() { words } else { words.names("nodes", nodes) };
            words
                .time_if("idle_after", *idle_after)
                .text_if("stored", stored.as_deref())
                .text_if("twin_of", twin_of.as_deref())
        }
        Verb::Input { per_second, until, .. } if *per_second > 0.0 => {
            words.raw("per_second", &per_second.to_string()).time("until", *until)
        }
        Verb::Reset { server_sees, .. } if *server_sees > 0 => {
            words.time("server_sees", *server_sees)
        }
        _ => words,
    }
    .0
}

fn frame_words(frame: &FrameStep) -> String {
    let entries: Vec<String> = frame
        .entries
        .iter()
        .map(|(user, state, version)| {
            format!("[{}, {}, {version}]", quote(user), quote(state.name()))
        })
        .collect();
    let entries = entries.join(", ");
    if frame.snapshot {
        format!("{{\"snapshot\": {{\"epoch\": {}, \"entries\": [{entries}]}}}}", frame.epoch)
    } else {
        format!("{{\"event\": {{\"epoch\": {}, \"entry\": {entries}}}}}", frame.epoch)
    }
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
            assert_eq!(read.first_wrong_step(), None, "{text}");
            assert_eq!((read.nodes, read.until), (world.nodes, world.until));
            let verbs = |steps: &[crate::file::Step]| -> Vec<String> {
                steps.iter().map(|it| format!("{} {:?}", it.at, it.verb)).collect()
            };
            assert_eq!(verbs(&read.steps), verbs(&world.steps), "{text}");
        }
    }

    #[test]
    fn every_step_of_the_shipped_files_reads_back_as_what_it_was() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/given");
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let file = Scenario::parse(&text).unwrap();
            let written = write(&file, "", &[]);
            let read =
                Scenario::parse(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
            let verbs = |file: &Scenario| -> Vec<String> {
                file.steps.iter().map(|it| format!("{} {:?}", it.at, it.verb)).collect()
            };
            assert_eq!(verbs(&read), verbs(&file), "{}", file.case);
        }
    }
}
