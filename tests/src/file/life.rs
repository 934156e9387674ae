//! What a page and an sdk script's connection can do as they stand: code that does not run calls
//! nothing, and a connection that is lost brings no frames.

use std::collections::BTreeMap;

use super::write::{head, secs};
use super::{Expect, FileError, Kind, Scenario, Verb};

impl Scenario {
    /// Refuses steps of a page whose code does not run, frames and losses that a connection cannot have,
    /// and expectations of parts that never watch.
    pub(super) fn check_life(&self) -> Result<(), FileError> {
        let mut pages = Pages::default();
        let mut lost_at = None;
        for step in &self.steps {
            let wrong = |text: String| {
                let (key, _) = head(&step.verb);
                FileError {
                    line: step.line,
                    text: format!("`{key}` at {} s: {text}", secs(step.at)),
                }
            };
            match (&step.verb, lost_at) {
                (Verb::Lost, None) => lost_at = Some(step.at),
                (Verb::Back, Some(_)) => lost_at = None,
                (Verb::Back, None) => {
                    return Err(wrong("the connection stands: `lost` comes before".into()));
                }
                (Verb::Lost | Verb::Frame(_), Some(at)) => {
                    let text =
                        format!("the connection is lost since {} s: `back` comes before", secs(at));
                    return Err(wrong(text));
                }
                _ => pages.take(step.at, &step.verb).map_err(wrong)?,
            }
        }
        for stated in &self.expects {
            let wrong = |text: String| FileError { line: stated.line, text };
            if let Expect::Callbacks { client, part: Some(part), .. } = &stated.expect
                && !self.has_part(client, part)
            {
                return Err(wrong(format!(
                    "`callbacks`: no `app_watch` is of the part \"{part}\", which is told nothing"
                )));
            }
        }
        Ok(())
    }

    fn has_part(&self, of: &str, named: &str) -> bool {
        self.steps.iter().any(|step| {
            matches!(&step.verb, Verb::AppWatch { client, part, .. }
                if part == named && (self.kind == Kind::Sdk || client == of))
        })
    }
}

/// The pages whose code does not run, and why: (verb that ends it, what they are, since when).
#[derive(Debug, Default)]
struct Pages<'a>(BTreeMap<&'a str, Vec<(&'static str, &'static str, u64)>>);

impl<'a> Pages<'a> {
    fn take(&mut self, at: u64, verb: &'a Verb) -> Result<(), String> {
        let mut begin = |client: &'a str, begins: bool, ends: &'static str, what: &'static str| {
            let states = self.0.entry(client).or_default();
            states.retain(|it| it.0 != ends);
            if begins {
                states.push((ends, what, at));
            }
        };
        match verb {
            Verb::Asleep { client, asleep } => begin(client, *asleep, "wake", "asleep"),
            Verb::Frozen { client, frozen } => begin(client, *frozen, "thaw", "frozen"),
            Verb::Cached { client, cached } => {
                begin(client, *cached, "cache_out", "in the page cache");
            }
            Verb::Open { client, .. } => _ = self.0.remove(&**client),
            Verb::LeavePage { client } => {
                self.runs(client)?;
                self.0.insert(client, vec![("open", "gone", at)]);
            }
            Verb::AppWatch { client, .. }
            | Verb::AppUnwatch { client, .. }
            | Verb::AppMode { client, .. }
            | Verb::AppConnect { client }
            | Verb::AppDisconnect { client }
            | Verb::SignOut { client }
            | Verb::BeforeUnload { client }
            | Verb::Room { who: client, .. } => self.runs(client)?,
            _ => {}
        }
        Ok(())
    }

    fn runs(&self, client: &str) -> Result<(), String> {
        match self.0.get(client).and_then(|it| it.last()) {
            None => Ok(()),
            Some((ends, what, since)) => Err(format!(
                "\"{client}\" is {what} since {} s, and runs no code: `{ends}` comes before",
                secs(*since)
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(kind: &str, steps: &str, expect: &str) -> String {
        let text = format!(
            "{{\"case\": \"x\", \"title\": \"x\", \"kind\": \"{kind}\", \"until\": 30,\n\"steps\": \
             [{steps}],\n\"expect\": [{expect}]}}"
        );
        let read = Scenario::parse(&text).and_then(|it| it.check());
        read.map_or_else(|it| it.to_string(), |()| String::new())
    }

    #[test]
    fn a_page_whose_code_does_not_run_calls_nothing() {
        let live = r#"{"link": "ana/s1", "at": 30, "is": "live"}"#;
        for (begins, ends) in [
            ("sleep", "wake"),
            ("freeze", "thaw"),
            ("cache_in", "cache_out"),
            ("leave_page", "open"),
        ] {
            for verb in ["sign_out", "leave_page", "app_connect"] {
                let script = |between: &str| {
                    format!(
                        "{{\"t\": 0, \"open\": \"ana/s1\"}}, {{\"t\": 3, \"{begins}\": \"ana/s1\"}}, \
                         {between} {{\"t\": 4, \"{verb}\": \"ana/s1\"}}"
                    )
                };
                let text = refused("world", &script(""), live);
                assert!(text.contains("since 3 s") && text.contains(ends), "{text}");
                let ended = format!("{{\"t\": 4, \"{ends}\": \"ana/s1\"}},");
                assert_eq!(refused("world", &script(&ended), live), "");
            }
        }
    }

    #[test]
    fn a_connection_that_is_lost_brings_nothing() {
        let frame = r#"{"t": 3, "frame": {"snapshot": {"epoch": "a", "entries": []}}}"#;
        let (lost, back) = (r#"{"t": 2, "lost": true}"#, r#"{"t": 3, "back": true}"#);
        let stale = r#"{"stale": true, "at": 5, "is": true}"#;
        assert!(refused("sdk", &[lost, frame].join(", "), stale).contains("lost since 2 s"));
        assert!(refused("sdk", &[lost, lost].join(", "), stale).contains("lost since 2 s"));
        assert!(refused("sdk", back, stale).contains("the connection stands"));
        assert_eq!(refused("sdk", &[lost, back, frame].join(", "), stale), "");
    }

    #[test]
    fn a_part_that_never_watches_is_told_nothing() {
        let watch = r#"{"t": 0, "app_watch": true, "users": ["ana"], "part": "p2"}"#;
        let told =
            |part: &str| format!("{{\"callbacks\": true, \"part\": \"{part}\", \"count\": 0}}");
        assert!(refused("sdk", watch, &told("p3")).contains("\"p3\""));
        assert_eq!(refused("sdk", watch, &told("p2")), "");
    }
}
