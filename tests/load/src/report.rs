//! A table of figures, each beside its budget, and the same as JSON.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use serde_json::{Map, Value};

/// What a figure must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// Nothing: it is printed for the reader.
    None,
}

/// One figure.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its key in the JSON.
    pub key: &'static str,
    /// What was measured.
    pub what: String,
    /// Ours, with its unit.
    pub ours: String,
    /// What it is measured against, with its unit.
    pub baseline: String,
    /// The figure that the budget is about.
    pub figure: f64,
    /// What it must be.
    pub budget: Budget,
}

/// The figures of one run.
#[derive(Debug, Default)]
pub struct Report {
    rows: Vec<Row>,
}

impl Row {
    /// Whether the budget is met.
    pub fn is_met(&self) -> bool {
        match self.budget {
            Budget::AtLeast(least) => self.figure >= least,
            Budget::AtMost(most) => self.figure <= most,
            Budget::None => true,
        }
    }
}

impl Report {
    /// Adds a figure and prints it, so that a long run shows how it goes.
    pub fn add(&mut self, row: Row) {
        if self.rows.is_empty() {
            println!("{}", line("what", "ours", "baseline", "figure", "budget", ""));
        }
        println!("{}", describe(&row));
        self.rows.push(row);
    }

    /// Whether every budget is met.
    pub fn is_met(&self) -> bool {
        self.rows.iter().all(Row::is_met)
    }

    /// The figures by key.
    pub fn json(&self) -> Value {
        let figures = self.rows.iter().map(|row| (row.key.to_owned(), Value::from(row.figure)));
        Value::Object(figures.collect::<Map<_, _>>())
    }

    /// Writes the figures where the caller wants them.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(&self.json())?;
        text.push('\n');
        fs::write(file, text)
    }
}

fn describe(row: &Row) -> String {
    let budget = match row.budget {
        Budget::AtLeast(least) => format!(">= {least}"),
        Budget::AtMost(most) => format!("<= {most}"),
        Budget::None => String::new(),
    };
    let verdict = match row.budget {
        Budget::None => "",
        _ if row.is_met() => "met",
        _ => "MISSED",
    };
    let figure = format!("{:.3}", row.figure);
    line(&row.what, &row.ours, &row.baseline, &figure, &budget, verdict)
}

fn line(what: &str, ours: &str, baseline: &str, figure: &str, budget: &str, met: &str) -> String {
    let mut text = String::new();
    _ = write!(text, "{what:<58} {ours:>14} {baseline:>14} {figure:>9} {budget:>8} {met}");
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(figure: f64, budget: Budget) -> Row {
        Row {
            key: "key",
            what: "it".into(),
            ours: "1".into(),
            baseline: "2".into(),
            figure,
            budget,
        }
    }

    #[test]
    fn a_budget_is_met_on_its_very_edge() {
        assert!(row(6.0, Budget::AtLeast(6.0)).is_met());
        assert!(!row(5.9, Budget::AtLeast(6.0)).is_met());
        assert!(row(1.5, Budget::AtMost(1.5)).is_met());
        assert!(!row(1.6, Budget::AtMost(1.5)).is_met());
    }

    #[test]
    fn figures_go_by_their_keys() {
        let mut report = Report::default();
        report.add(row(1.5, Budget::None));
        assert_eq!(report.json(), serde_json::json!({ "key": 1.5 }));
    }
}
