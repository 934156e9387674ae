//! Scenario files, format 1: read strictly.
//!
//! What a file says that the runner does not know is always an error, with the line, the culprit
//! and what was probably meant.

mod encoding;
mod expect;
mod fields;
mod json;
mod life;
mod range;
mod sense;
mod settings;
mod step;
pub(crate) mod write;

use std::fmt;

pub use self::encoding::decode;
pub(crate) use self::expect::end_name;
pub use self::expect::{Count, Expect, ShownState, Window};
use self::fields::{Fields, nearest};
use self::json::Json;
use self::range::Names;
pub use self::settings::FileSettings;
pub use self::step::{Callback, FrameStep, LinkAction, Stands, Step, Verb};
use self::write::secs;

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
    const NAMES: [(&'static str, Self); 3] = [
        (Self::Engine.name(), Self::Engine),
        (Self::Sdk.name(), Self::Sdk),
        (Self::World.name(), Self::World),
    ];

    /// Its word in a file.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Sdk => "sdk",
            Self::World => "world",
        }
    }

    /// Stands for it in a set of kinds.
    const fn bit(self) -> u8 {
        match self {
            Self::Engine => 1,
            Self::World => 2,
            Self::Sdk => 4,
        }
    }
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
        let settings = fields.take("settings");
        let nodes_line = fields.line_of("nodes");
        if kind == Kind::Sdk && fields.has("nodes") {
            let text = "kind `sdk` has no nodes: its frames come from the script".into();
            return Err(FileError { line: nodes_line, text });
        }
        let nodes = fields.names("nodes")?.unwrap_or_else(|| vec!["N1".into()]);
        let until = fields.need_time_up_to("until", LONGEST, "a run lasts")?;
        let slack = fields.time("slack")?.unwrap_or(SLACK);
        let items = fields.need_list("steps")?;
        let expect_line = fields.line_of("expect");
        let stated = fields.need_list("expect")?;
        // Before what is in them is read: a key that is misspelt may be why that makes no sense.
        fields.finish()?;
        check_names(&nodes).map_err(|text| FileError { line: nodes_line, text })?;
        let settings = match settings {
            Some(json) => FileSettings::parse(&json, kind)?,
            None => FileSettings::new(kind),
        };
        let mut names = Names::default();
        let mut steps: Vec<Step> = Vec::new();
        let mut before = 0;
        for item in items {
            let copies = names.expand(&item)?;
            let first = steps.len();
            for copy in copies {
                let step = Step::parse(&copy, kind)?;
                check_named(&step.nodes(), &nodes, step.line)?;
                steps.push(step);
            }
            if let Some(step) = steps.get(first) {
                if step.at < before {
                    let (at, before) = (secs(step.at), secs(before));
                    let text = format!(
                        "`t` is {at}, after a step at {before}: steps stand in order of `t`"
                    );
                    return Err(FileError { line: step.line, text });
                }
                before = step.at;
            }
        }
        // Stable: steps of one time stay in the file's order.
        steps.sort_by_key(|step| step.at);
        let mut expects = Vec::new();
        for item in stated {
            for copy in names.expand(&item)? {
                let expect = Expect::parse(&copy.json, kind, slack)?;
                check_named(&expect.nodes(), &nodes, item.line)?;
                expects.push(Stated { line: item.line, expect, words: copy.json.words() });
            }
        }
        Ok(Self { case, title, kind, settings, nodes, steps, until, slack, expects, expect_line })
    }
}

/// Every node that is named must be one of the file's.
fn check_named(named: &[&String], nodes: &[String], line: usize) -> Result<(), FileError> {
    match named.iter().find(|it| !nodes.contains(it)) {
        None => Ok(()),
        Some(node) => {
            let known: Vec<&str> = nodes.iter().map(|it| &**it).collect();
            let text = format!("there is no node \"{node}\" in `nodes`; {}", nearest(node, &known));
            Err(FileError { line, text })
        }
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
