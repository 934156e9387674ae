//! `cargo xtask test`: runs the steps, stops at the first failure, and sums up.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::builder::{PossibleValue, PossibleValuesParser};

use crate::steps::{STEPS, Step};
use crate::table::{self, duration};
use crate::tools;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run the long steps, too
    #[arg(long)]
    all: bool,

    /// Run only this step; may be given more than once
    #[arg(long, value_name = "STEP", value_parser = step_names())]
    only: Vec<String>,
}

/// How a step ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed(Duration),
    Failed(Duration),
    NotRun,
}

pub(crate) fn run(args: &Args) -> ExitCode {
    let steps: Vec<_> = STEPS.iter().filter(|step| args.selects(step)).collect();
    let mut outcomes = vec![Outcome::NotRun; steps.len()];
    let start = Instant::now();
    let found = tools::ensure(steps.iter().flat_map(|step| step.tools).copied());
    let tools = start.elapsed();
    if let Err(error) = found {
        println!("error: {error:#}");
        // Nothing could be checked: that counts as a failure of the first step.
        outcomes[0] = Outcome::Failed(Duration::ZERO);
    } else {
        run_each(&steps, &mut outcomes);
    }
    println!("\n{}", summary(tools, &steps, &outcomes));
    ExitCode::from(u8::from(outcomes.iter().any(|outcome| !matches!(outcome, Outcome::Passed(_)))))
}

fn step_names() -> PossibleValuesParser {
    PossibleValuesParser::new(
        STEPS.iter().map(|step| PossibleValue::new(step.name).help(step.about)),
    )
}

impl Args {
    fn selects(&self, step: &Step) -> bool {
        if self.only.is_empty() {
            self.all || !step.long
        } else {
            self.only.iter().any(|name| name == step.name)
        }
    }
}

fn run_each(steps: &[&Step], outcomes: &mut [Outcome]) {
    for (index, (step, outcome)) in steps.iter().zip(outcomes).enumerate() {
        println!("\n== {}/{} {}: {}", index + 1, steps.len(), step.name, step.about);
        let start = Instant::now();
        let result = (step.run)();
        let time = start.elapsed();
        if let Err(error) = result {
            println!("\nerror: step {}: {error:#}", step.name);
            println!("run it again with: cargo xtask test --only {}", step.name);
            *outcome = Outcome::Failed(time);
            return;
        }
        println!("== {} passed in {}", step.name, duration(time));
        *outcome = Outcome::Passed(time);
    }
}

/// The table, and below it the line that machines read.
fn summary(tools: Duration, steps: &[&Step], outcomes: &[Outcome]) -> String {
    let mut rows: Vec<[String; 3]> = vec![["tools".into(), String::new(), duration(tools)]];
    let (mut passed, mut failed, mut total) = (0, 0, tools);
    for (step, outcome) in steps.iter().zip(outcomes) {
        let (word, time) = match outcome {
            Outcome::Passed(time) => ("passed", Some(*time)),
            Outcome::Failed(time) => ("FAILED", Some(*time)),
            Outcome::NotRun => ("not run", None),
        };
        passed += usize::from(word == "passed");
        failed += usize::from(word == "FAILED");
        total += time.unwrap_or_default();
        rows.push([step.name.into(), word.into(), time.map(duration).unwrap_or_default()]);
    }
    rows.push(["all".into(), String::new(), duration(total)]);
    format!(
        "{}\n{passed} passed, {failed} failed",
        table::render(["step", "result", "time"], &rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(all: bool, only: &[&str]) -> Args {
        Args { all, only: only.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn long_steps_wait_for_all_or_for_their_name() {
        let long = STEPS.iter().find(|step| step.long).unwrap();
        assert!(!args(false, &[]).selects(long));
        assert!(args(true, &[]).selects(long));
        assert!(args(false, &[long.name]).selects(long));
        assert!(!args(true, &["fmt"]).selects(long));
    }

    #[test]
    fn the_last_line_counts_steps() {
        let steps = [&STEPS[0], &STEPS[1], &STEPS[2]];
        let second = Duration::from_secs(1);
        let outcomes = [Outcome::Passed(second), Outcome::Failed(second), Outcome::NotRun];
        let text = summary(Duration::from_secs(60), &steps, &outcomes);
        assert_eq!(text.lines().last(), Some("1 passed, 1 failed"));
        assert!(text.contains("not run") && text.contains("1 min 00 s"), "{text}");
        assert!(text.contains("1 min 02 s"), "the time of all counts the tools: {text}");
    }
}
