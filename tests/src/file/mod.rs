//! Scenario files, format 1: read strictly.
//!
//! What a file says that the runner does not know is always an error, with the line, the culprit
//! and what was probably meant.

mod expect;
mod fields;
mod json;
mod life;
mod range;
mod sense;
mod settings;
mod step;
pub(crate) mod step_frames;
pub(crate) mod write;

use std::fmt;

pub use self::expect::{Count, Expect, ShownState, Window};
use self::fields::Fields;
use self::json::Json;
use self::range::Names;
pub use self::settings::FileSettings;
pub use self::step::{Callback, FrameStep, LinkAction, Step, Verb};

/// A file's mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The line, counted from 1; 0 if it is about the whole file.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub text: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "{}", self.text)
        } else {
            write!(f, "line {}: {}", self.line, self.text)
        }
    }
}

impl std::error::Error for FileError {}

/// What plays against what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Scripted raw connections against nodes.
    Engine,
    /// Frames fed to one client core.
    Sdk,
    /// Client cores against nodes over a simulated network.
    World,
}

impl Kind {
    const NAMES: [(&'static str, Self); 3] =
        [("engine", Self::Engine), ("sdk", Self::Sdk), ("world", Self::World)];
}

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its id.
    pub case: String,
    /// One line.
    pub title: String,
    /// What plays against what.
    pub kind: Kind,
    /// The periods.
    pub settings: FileSettings,
    /// The nodes' names.
    pub nodes: Vec<String>,
    /// The script, ranges expanded, sorted by time.
    pub steps: Vec<Step>,
    /// When the run ends, in ms.
    pub until: u64,
    /// How late an event may come, in ms.
    pub slack: u64,
    /// The expectations, ranges expanded.
    pub expects: Vec<Stated>,
    /// The line on which they begin.
    pub expect_line: usize,
}

/// An expectation with the line that states it.
#[derive(Clone, Debug)]
pub struct Stated {
    /// The line.
    pub line: usize,
    /// The expectation.
    pub expect: Expect,
    /// The same in the file's own words.
    pub words: String,
}

/// The longest run, in ms: 31 days. Each beat of each session is played.
const LONGEST: u64 = 31 * 24 * 3_600_000;

/// How late an event may come if the file does not say.
const SLACK: u64 = 1_000;

impl Scenario {
    /// Reads a file's text.
    ///
    /// # Errors
    ///
    /// At the first thing that is not known or not possible.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let json = Json::parse(text)?;
        let mut fields = Fields::of(&json, "a scenario")?;
        let case = fields.need_text("case")?;
        let title = fields.need_text("title")?;
        fields.text("why")?;
        let kind = fields.need_choice("kind", &Kind::NAMES)?;
        let settings = match fields.take("settings") {
            Some(json) => FileSettings::parse(&json, kind)?,
            None => FileSettings::new(kind),
        };
        let nodes_line = fields.line_of("nodes");
        if kind == Kind::Sdk && fields.has("nodes") {
            let text = "kind `sdk` has no nodes: its frames come from the script".into();
            return Err(FileError { line: nodes_line, text });
        }
        let nodes = fields.names("nodes")?.unwrap_or_else(|| vec!["N1".into()]);
        check_names(&nodes).map_err(|text| FileError { line: nodes_line, text })?;
        let until_line = fields.line_of("until");
        let until = fields.need_time("until")?;
        if until > LONGEST {
            let text = format!(
                "`until` is {} s; a run lasts {} s at most",
                until / 1_000,
                LONGEST / 1_000
            );
            return Err(FileError { line: until_line, text });
        }
        let slack = fields.time("slack")?.unwrap_or(SLACK);
        let mut names = Names::default();
        let mut steps = Vec::new();
        for item in fields.need_list("steps")? {
            for (index, count, item) in names.expand(&item)? {
                let step = Step::parse(&item, kind, index, count)?;
                step.check_nodes(&nodes)?;
                steps.push(step);
            }
        }
        // Stable: steps of one time stay in the file's order.
        steps.sort_by_key(|step| step.at);
        let expect_line = fields.line_of("expect");
        let mut expects = Vec::new();
        for item in fields.need_list("expect")? {
            for (_, _, item) in names.expand(&item)? {
                let expect = Expect::parse(&item, slack)?;
                expects.push(Stated { line: item.line, expect, words: item.words() });
            }
        }
        fields.finish()?;
        Ok(Self { case, title, kind, settings, nodes, steps, until, slack, expects, expect_line })
    }
}

/// Whether each node can be told from the others.
fn check_names(nodes: &[String]) -> Result<(), String> {
    if nodes.is_empty() {
        return Err("`nodes` names no node".into());
    }
    for (index, name) in nodes.iter().enumerate() {
        if nodes[..index].contains(name) {
            return Err(format!("`nodes` names \"{name}\" twice"));
        }
    }
    Ok(())
}
