//! What a file says must be able to happen: a script that plays, but not as it reads, would hold
//! or fail for another reason than its writer believes.

mod cast;
mod course;

use self::cast::{Cast, Role};
use self::course::Course;
use super::write::{head, secs};
use super::{Expect, FileError, Kind, Scenario};

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
        if let Some((index, text)) = self.wrong_step(&cast) {
            return Err(FileError { line: self.steps[index].line, text });
        }
        for stated in &self.expects {
            self.check_expect(&cast, &stated.expect)
                .map_err(|text| FileError { line: stated.line, text })?;
        }
        Ok(())
    }

    /// The first step that would not do what it says, by its index, and why.
    pub(crate) fn first_wrong_step(&self) -> Option<(usize, String)> {
        self.wrong_step(&Cast::of(self))
    }

    fn wrong_step(&self, cast: &Cast<'_>) -> Option<(usize, String)> {
        let mut course = Course::of(self);
        for (index, step) in self.steps.iter().enumerate() {
            let (key, name) = head(&step.verb);
            if step.at > self.until {
                let text = format!(
                    "`{key}` at {} s comes after `until`, {} s, and would not be played: raise \
                     `until`",
                    secs(step.at),
                    secs(self.until)
                );
                return Some((index, text));
            }
            let entered = match Role::of_step(key, self.kind) {
                // A device has its clock before its client begins.
                Some(Role::Clock) => cast.find(Role::Clock, name, None),
                Some(role) => cast.find(role, name, Some((step.at, index))),
                None => Ok(()),
            };
            if let Err(text) = entered.and_then(|()| course.take(step)) {
                return Some((index, format!("`{key}`: {text}")));
            }
        }
        None
    }

    fn check_expect(&self, cast: &Cast<'_>, expect: &Expect) -> Result<(), String> {
        if let Some(at) = expect.moments(self.until).into_iter().find(|it| *it > self.until) {
            return Err(format!(
                "what holds at {} s, after `until`, {} s, is not looked at: raise `until`",
                secs(at),
                secs(self.until)
            ));
        }
        if self.kind == Kind::Sdk {
            return Ok(());
        }
        if let Some((key, role, name)) = about(expect) {
            cast.find(role, name, None).map_err(|what| format!("`{key}`: {what}"))?;
        }
        if let (Kind::World, Expect::RosterFrames { .. }) = (self.kind, expect) {
            return Err(
                "`roster`: the `frames` of a device are not counted: ask for `members`".into()
            );
        }
        cast.watches(expect)?;
        cast.keeps(expect)
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
        Expect::Roster { conn, .. } | Expect::RosterFrames { conn, .. } => {
            ("roster", Role::Member, conn)
        }
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
        check_kind("engine", steps, expect)
    }

    fn check_kind(kind: &str, steps: &str, expect: &str) -> Result<(), String> {
        let text = format!(
            "{{\"case\": \"x\", \"title\": \"x\", \"kind\": \"{kind}\", \"until\": 30,\n\"steps\": \
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
    fn what_ends_what_was_never_begun_is_named() {
        for (step, wanted) in [
            (r#"{"t": 2, "start": "N1"}"#, "`start`: \"N1\" runs"),
            (r#"{"t": 2, "start": "N1", "empty": true}"#, "`start`: \"N1\" runs"),
            (r#"{"t": 2, "resume": "N1"}"#, "`resume`: \"N1\" is not paused"),
            (r#"{"t": 2, "heal": "N1"}"#, "`heal`: \"N1\" is not cut off"),
            (r#"{"t": 2, "store": "up"}"#, "`store`: the store is up"),
            (r#"{"t": 2, "unstall": "W"}"#, "`unstall`: \"W\" is not stalled"),
            (r#"{"t": 2, "mute": "c1", "until": 2}"#, "`mute`: `until`, 2 s, is not after"),
            (r#"{"t": 2, "hold": "N1", "until": 1}"#, "`hold`: `until`, 1 s, is not after"),
            (
                r#"{"t": 2, "ask": "W", "users": ["ana"], "as": "q", "since": "p"}"#,
                "`ask`: `since` names no earlier ask \"p\"",
            ),
            (
                r#"{"t": 2, "connect": "bo/s1", "conn": "c1"}"#,
                "`connect`: a connection \"c1\" begins at 1 s already",
            ),
            (r#"{"t": 2, "skew": "N2", "by": 1}"#, "`skew`: no session, client or node \"N2\""),
            (r#"{"t": 2, "room_join": "ana/s2", "room": "r"}"#, "`room_join`: no connection"),
        ] {
            let text = refused(&[WATCH, CONNECT, step], SEES);
            assert!(text.starts_with(&format!("line 4: {wanted}")), "{text}");
        }
    }

    const OPEN: &str = r#"{"t": 1, "open": "ana/s1"}"#;
    const LIVE: &str = r#"{"link": "ana/s1", "at": 5, "is": "live"}"#;

    #[test]
    fn what_happens_to_a_client_that_has_not_begun_is_named() {
        for (step, key) in [
            (r#"{"t": 1, "on": "ana/s1", "state": "live", "do": ["app_connect"]}"#, "on"),
            (r#"{"t": 1, "app_watch": "ana/s1", "users": ["bo"]}"#, "app_watch"),
            (r#"{"t": 1, "lose_answers": "ana/s1", "until": 9}"#, "lose_answers"),
        ] {
            let text = check_kind("world", &[step, OPEN].join(",\n"), LIVE).unwrap_err();
            let wanted = format!("line 2: `{key}`: the client \"ana/s1\" begins only with line 3");
            assert!(text.starts_with(&wanted) && text.contains("after its `open`"), "{text}");
            assert_eq!(check_kind("world", &[OPEN, step].join(",\n"), LIVE), Ok(()));
        }
    }

    #[test]
    fn what_is_so_already_and_what_ends_it_are_named_for_pages_and_nodes_too() {
        for (steps, wanted) in [
            (&[r#"{"t": 2, "show": "ana/s1"}"#][..], "`show`: \"ana/s1\" is not hidden: `hide`"),
            (
                &[r#"{"t": 2, "online": "ana/s1"}"#],
                "`online`: \"ana/s1\" is not offline: `offline`",
            ),
            (
                &[r#"{"t": 2, "sleep": "ana/s1"}"#, r#"{"t": 3, "sleep": "ana/s1"}"#],
                "`sleep`: \"ana/s1\" is asleep since 2 s already: `wake`",
            ),
            (
                &[r#"{"t": 2, "kill": "N1"}"#, r#"{"t": 3, "kill": "N1"}"#],
                "`kill`: \"N1\" is dead since 2 s already: `start`",
            ),
            (
                &[r#"{"t": 2, "leave_page": "ana/s1"}"#, r#"{"t": 3, "input": "ana/s1"}"#],
                "`input`: the page of \"ana/s1\" has left at 2 s, and has no input: `open`",
            ),
        ] {
            let script = [&[OPEN], steps].concat().join(",\n");
            let text = check_kind("world", &script, LIVE).unwrap_err();
            let line = 2 + steps.len();
            assert!(text.starts_with(&format!("line {line}: {wanted}")), "{text}");
        }
        let steps = [
            OPEN,
            r#"{"t": 2, "hide": "ana/s1"}, {"t": 3, "show": "ana/s1"}, {"t": 3, "hide": "ana/s1"}"#,
            r#"{"t": 4, "offline": "ana/s1"}, {"t": 5, "offline": "ana/s1"}, {"t": 6, "online": "ana/s1"}"#,
            r#"{"t": 7, "sleep": "ana/s1"}, {"t": 8, "wake": "ana/s1"}, {"t": 8, "sleep": "ana/s1"}"#,
            r#"{"t": 9, "drain": "N1"}, {"t": 10, "kill": "N1"}, {"t": 11, "start": "N1"}, {"t": 12, "kill": "N1"}"#,
            r#"{"t": 13, "open": "bo/s1"}, {"t": 14, "leave_page": "bo/s1"}, {"t": 15, "open": "bo/s1"}"#,
            r#"{"t": 16, "input": "bo/s1"}"#,
            r#"{"t": 20, "ask": "W", "users": ["ana"], "as": "q", "repeat": 200, "every": 0.1}"#,
        ];
        assert_eq!(check_kind("world", &steps.join(",\n"), LIVE), Ok(()));
    }

    #[test]
    fn what_ends_what_was_begun_passes_whatever_happened_meanwhile() {
        let steps = r#"{"t": 0, "watch": "W", "users": ["ana"]},
            {"t": 1, "connect": "ana/s1", "conn": "c1"},
            {"t": 2, "pause": "N1"}, {"t": 3, "kill": "N1"}, {"t": 4, "start": "N1"}, {"t": 5, "resume": "N1"},
            {"t": 6, "drain": "N1"}, {"t": 7, "kill": "N1"}, {"t": 8, "start": "N1", "empty": true},
            {"t": 9, "stall": "W"}, {"t": 10, "hangup": "W"}, {"t": 11, "unstall": "W"},
            {"t": 12, "unwatch": "W", "users": ["nobody"]},
            {"t": 13, "connect": "bo/s1"}, {"t": 14, "connect": "bo/s1"},
            {"t": 15, "room_join": "bo/s1", "room": "r"}, {"t": 15, "skew": "ana/s1", "by": 5},
            {"t": 16, "ask": "W", "users": ["ana"], "as": "q", "repeat": 2, "every": 1},
            {"t": 20, "ask": "W", "users": ["ana"], "as": "r", "since": "q"}"#;
        assert_eq!(check(steps, SEES), Ok(()));
    }

    #[test]
    fn answers_that_nobody_asked_for_are_named() {
        let ask = r#"{"t": 2, "ask": "W", "users": ["ana"], "as": "q1"}"#;
        let list = r#"{"t": 3, "list": "W", "as": "l1"}"#;
        for (expect, wanted) in [
            (r#"{"ask": "q", "user": "ana"}"#, "`ask`: no step keeps an answer \"q\""),
            (r#"{"ask": "q1", "user": "anna"}"#, "`ask`: \"q1\" does not ask about \"anna\""),
            (r#"{"ask": "q1", "changes": {"bo": "away"}}"#, "`ask`: \"q1\" does not ask about"),
            (r#"{"ask_same": ["q1", "q2"]}"#, "`ask_same`: no step keeps an answer \"q2\""),
            (r#"{"list": "l2", "count": 0}"#, "`list`: no step keeps a list \"l2\""),
        ] {
            let text = refused(&[WATCH, CONNECT, ask, list], expect);
            assert!(text.starts_with(&format!("line 6: {wanted}")), "{text}");
            assert!(
                text.contains("1`") || text.contains("`ana`") || text.contains(": ana"),
                "{text}"
            );
        }
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
