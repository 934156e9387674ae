//! What a file says must be able to happen: a script that plays, but not as it reads, would hold
//! or fail for another reason than its writer believes.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::nearest;
use super::write::{head, secs};
use super::{Expect, FileError, Kind, Scenario, Verb};

impl Scenario {
    /// Refuses steps that would do nothing and expectations that nothing could break.
    ///
    /// # Errors
    ///
    /// Names the first of them, with its line and what was probably meant.
    pub fn check(&self) -> Result<(), FileError> {
        if self.expects.is_empty() {
            return Err(FileError {
                line: self.expect_line,
                text: "`expect` is empty: whatever happens would be right; state what must hold, \
                       or play the file under the rules alone with `cargo xtask hunt FILE`"
                    .into(),
            });
        }
        self.check_life()?;
        let cast = Cast::of(self);
        for step in &self.steps {
            let wrong = |text| FileError { line: step.line, text };
            let (key, name) = head(&step.verb);
            if step.at > self.until {
                return Err(wrong(format!(
                    "`{key}` at {} s comes after `until`, {} s, and would not be played: raise \
                     `until`",
                    secs(step.at),
                    secs(self.until)
                )));
            }
            let Some(role) = Role::of_step(key, self.kind) else { continue };
            cast.find(role, name, step.at).map_err(|what| wrong(format!("`{key}`: {what}")))?;
        }
        for stated in &self.expects {
            let wrong = |text| FileError { line: stated.line, text };
            if let Some(at) =
                stated.expect.moments(self.until).into_iter().find(|it| *it > self.until)
            {
                return Err(wrong(format!(
                    "what holds at {} s, after `until`, {} s, is not looked at: raise `until`",
                    secs(at),
                    secs(self.until)
                )));
            }
            if self.kind == Kind::Sdk {
                continue;
            }
            if let Some((key, role, name)) = about(&stated.expect) {
                cast.find(role, name, u64::MAX)
                    .map_err(|what| wrong(format!("`{key}`: {what}")))?;
            }
            cast.watches(&stated.expect).map_err(wrong)?;
        }
        Ok(())
    }
}

/// What a name must be the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Conn,
    Client,
    Watcher,
    /// A watcher, or somebody who only asks.
    Viewer,
    /// A client or a viewer.
    Reader,
    /// A client or a connection.
    Member,
    /// A session, by "user/session".
    Session,
}

impl Role {
    fn of_step(key: &str, kind: Kind) -> Option<Self> {
        Some(match key {
            "beat" | "idle" | "active" | "bye" | "closing" | "drop" | "vanish" | "mute" => {
                Self::Conn
            }
            "unwatch" | "hangup" | "stall" | "unstall" | "renew" => Self::Viewer,
            "room_join" | "room_leave" => Self::Member,
            "app_watch" | "app_unwatch" | "app_connect" | "app_disconnect" | "on" | "sign_out"
            | "leave_page" | "before_unload" | "input" | "hide" | "show" | "freeze" | "thaw"
            | "sleep" | "wake" | "cache_in" | "cache_out" | "offline" | "online" | "blackhole"
            | "clear" | "reset" | "lose_answers"
                if kind == Kind::World =>
            {
                Self::Client
            }
            _ => return None,
        })
    }

    /// (what it is, how it comes to be)
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Conn => ("connection", "`connect`"),
            Self::Client => ("client", "`open`"),
            Self::Watcher => ("watcher", "`watch`"),
            Self::Viewer => ("watcher", "`watch` or `ask`"),
            Self::Reader => ("watcher or client", "`watch`, `ask` or `open`"),
            Self::Member => ("connection or client", "`connect` or `open`"),
            Self::Session => ("session", "`connect` or `open`"),
        }
    }
}

/// Everybody who appears in the script.
#[derive(Debug, Default)]
struct Cast<'a> {
    /// By role and name: when first.
    entrances: BTreeMap<(u8, &'a str), u64>,
    /// Whom each watcher, and each client's app, ever watches.
    watched: BTreeMap<&'a str, BTreeSet<&'a str>>,
    sessions: Vec<String>,
}

const CONN: u8 = 0;
const CLIENT: u8 = 1;
const WATCHER: u8 = 2;
const ASKER: u8 = 3;

impl<'a> Cast<'a> {
    fn of(scenario: &'a Scenario) -> Self {
        let mut cast = Self::default();
        for step in &scenario.steps {
            let mut enters = |role, name| {
                cast.entrances.entry((role, name)).or_insert(step.at);
            };
            match &step.verb {
                Verb::Connect { user, session, conn, .. } => {
                    enters(CONN, conn);
                    cast.sessions.push(format!("{user}/{session}"));
                }
                Verb::Open { client, .. } => enters(CLIENT, client),
                Verb::Watch { watcher, users, .. } => {
                    enters(WATCHER, watcher);
                    cast.watched.entry(watcher).or_default().extend(users.iter().map(|it| &**it));
                }
                Verb::AppWatch { client, users, .. } => {
                    cast.watched.entry(client).or_default().extend(users.iter().map(|it| &**it));
                }
                Verb::Ask { watcher, .. } | Verb::List { watcher, .. } => enters(ASKER, watcher),
                _ => {}
            }
        }
        cast
    }

    /// Whether somebody of that name has entered by then.
    fn find(&self, role: Role, name: &str, by: u64) -> Result<(), String> {
        let kinds: &[u8] = match role {
            Role::Conn => &[CONN],
            Role::Client | Role::Session => &[CLIENT],
            Role::Watcher => &[WATCHER],
            Role::Viewer => &[WATCHER, ASKER],
            Role::Reader => &[WATCHER, ASKER, CLIENT],
            Role::Member => &[CONN, CLIENT],
        };
        let first = kinds.iter().filter_map(|&kind| self.entrances.get(&(kind, name))).min();
        let (what, verb) = role.words();
        match first {
            Some(&at) if at <= by => Ok(()),
            Some(&at) => Err(format!(
                "the {what} \"{name}\" begins only at {} s: put the step after its {verb}",
                secs(at)
            )),
            None if role == Role::Session && self.sessions.iter().any(|it| it == name) => Ok(()),
            None => {
                let mut known: Vec<&str> = self
                    .entrances
                    .keys()
                    .filter(|(kind, _)| kinds.contains(kind))
                    .map(|it| it.1)
                    .collect();
                if role == Role::Session {
                    known.extend(self.sessions.iter().map(|it| &**it));
                }
                known.dedup();
                Err(format!(
                    "no {what} \"{name}\" ever begins, with {verb}; {}",
                    meant(name, &known)
                ))
            }
        }
    }

    /// Who is told of a user must have asked for that user.
    fn watches(&self, expect: &Expect) -> Result<(), String> {
        let (key, watcher, user, verb) = match expect {
            Expect::Events { watcher, user, .. } => ("watcher", watcher, user, "watch"),
            Expect::Snapshot { watcher, user, .. } => ("snapshot", watcher, user, "watch"),
            Expect::Shown { client, user, .. } | Expect::NeverShown { client, user, .. } => {
                ("shown", client, user, "app_watch")
            }
            _ => return Ok(()),
        };
        let watched = self.watched.get(&**watcher);
        if watched.is_some_and(|it| it.contains(&**user)) {
            return Ok(());
        }
        let known: Vec<&str> = watched.into_iter().flatten().copied().collect();
        Err(format!(
            "`{key}`: \"{watcher}\" never watches \"{user}\", with `{verb}`, and is told nothing of \
             that user; {}",
            meant(user, &known)
        ))
    }
}

/// "did you mean", without a list as long as a crowd.
fn meant(name: &str, known: &[&str]) -> String {
    match known.len() {
        0 => "there is none in this file".into(),
        1..=8 => nearest(name, known),
        more => {
            let near = nearest(name, known);
            if near.starts_with("did") { near } else { format!("there are {more} others") }
        }
    }
}

/// Whom an expectation is about: (key, what it must be, name).
fn about(expect: &Expect) -> Option<(&'static str, Role, &str)> {
    Some(match expect {
        Expect::Events { watcher, .. } => ("watcher", Role::Watcher, watcher),
        Expect::EventsInAll { watcher, .. } => ("watcher", Role::Viewer, watcher),
        Expect::Snapshot { watcher, .. } => ("snapshot", Role::Watcher, watcher),
        Expect::NeverSent { watcher, .. } => ("never_sent", Role::Viewer, watcher),
        Expect::Outbox { who, .. } => ("outbox", Role::Reader, who),
        Expect::ConnClosed { conn, .. }
        | Expect::ConnOpenAt { conn, .. }
        | Expect::ConnRefused { conn, .. } => ("conn", Role::Conn, conn),
        Expect::Answered { conn, .. } => ("answered", Role::Conn, conn),
        Expect::Silence { session, .. } => ("silence", Role::Session, session),
        Expect::Lease { session, .. } => ("lease", Role::Session, session),
        Expect::View { client, .. } => ("view", Role::Client, client),
        Expect::Shown { client, .. } | Expect::NeverShown { client, .. } => {
            ("shown", Role::Client, client)
        }
        Expect::Callbacks { client, .. } => ("callbacks", Role::Client, client),
        Expect::Link { client, .. } => ("link", Role::Client, client),
        Expect::Links { client, .. } => ("links", Role::Client, client),
        Expect::OpenAtOnce { client, .. } => ("open_at_once", Role::Client, client),
        Expect::Stale { client, .. } => ("stale", Role::Client, client),
        Expect::Dials { client, .. } => ("dials", Role::Client, client),
        Expect::Beats { client, .. } => ("beats", Role::Client, client),
        Expect::Sent { client, .. } => ("sent", Role::Client, client),
        Expect::Timers { client, .. } => ("timers", Role::Client, client),
        Expect::Ago { client, .. } => ("ago", Role::Client, client),
        Expect::Leaks { client, .. } => ("leaks", Role::Client, client),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a script of kind `engine` that runs for 30 s.
    fn check(steps: &str, expect: &str) -> Result<(), String> {
        let text = format!(
            "{{\"case\": \"x\", \"title\": \"x\", \"kind\": \"engine\", \"until\": 30,\n\"steps\": \
             [{steps}],\n\"expect\": [{expect}]}}"
        );
        Scenario::parse(&text).unwrap().check().map_err(|it| it.to_string())
    }

    const WATCH: &str = r#"{"t": 0, "watch": "W", "users": ["ana"]}"#;
    const CONNECT: &str = r#"{"t": 1, "connect": "ana/s1", "conn": "c1"}"#;
    const SEES: &str = r#"{"watcher": "W", "user": "ana", "events": [["online", 1, 1]]}"#;

    fn refused(steps: &[&str], expect: &str) -> String {
        check(&steps.join(",\n"), expect).unwrap_err()
    }

    #[test]
    fn what_makes_sense_passes() {
        assert_eq!(check(&[WATCH, CONNECT].join(", "), SEES), Ok(()));
    }

    #[test]
    fn steps_that_would_do_nothing_are_named_with_line_key_and_what_was_meant() {
        let text = refused(&[WATCH, CONNECT, r#"{"t": 2, "bye": "c2"}"#], SEES);
        assert!(text.starts_with("line 4: `bye`") && text.contains("`c1`"), "{text}");
        let text = refused(&[WATCH, r#"{"t": 0, "bye": "c1"}"#, CONNECT], SEES);
        assert!(text.starts_with("line 3: `bye`") && text.contains("only at 1 s"), "{text}");
        let text = refused(&[WATCH, CONNECT, r#"{"t": 31, "bye": "c1"}"#], SEES);
        assert!(text.starts_with("line 4: `bye` at 31 s") && text.contains("`until`"), "{text}");
        let text = refused(&[WATCH, CONNECT, r#"{"t": 2, "hangup": "V"}"#], SEES);
        assert!(text.starts_with("line 4: `hangup`") && text.contains("`W`"), "{text}");
    }

    #[test]
    fn expectations_that_nothing_could_break_are_named_too() {
        let text = refused(&[WATCH, CONNECT], "");
        assert!(text.contains("`expect` is empty"), "{text}");
        let text = refused(&[WATCH, CONNECT], r#"{"watcher": "W", "user": "anna", "events": []}"#);
        assert!(text.starts_with("line 4: `watcher`") && text.contains("`ana`"), "{text}");
        let text = refused(&[WATCH, CONNECT], r#"{"watcher": "V", "events_in_all": 0}"#);
        assert!(text.starts_with("line 4: `watcher`") && text.contains("`W`"), "{text}");
        let text = refused(&[WATCH, CONNECT], r#"{"conn": "c", "open_at": 2}"#);
        assert!(text.starts_with("line 4: `conn`") && text.contains("`c1`"), "{text}");
    }

    #[test]
    fn every_shipped_file_makes_sense() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let mut count = 0;
        for folder in std::fs::read_dir(root).unwrap() {
            for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let text = std::fs::read_to_string(&path).unwrap();
                let checked = Scenario::parse(&text).and_then(|it| it.check());
                assert_eq!(checked, Ok(()), "{}", path.display());
                count += 1;
            }
        }
        assert!(count > 50, "only {count} files were found");
    }
}
