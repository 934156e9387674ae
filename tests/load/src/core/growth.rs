//! How the cost of each operation grows with what a node holds: there is to be no cliff.

use serde_json::{Value, json};

use super::costs::{Round, Work, greendot};
use super::fanout::one_change;
use crate::median;

/// Sessions on a node.
const SESSIONS: [usize; 5] = [1_000, 10_000, 100_000, 1_000_000, 4_000_000];
/// Watchers of one user.
const WATCHERS: [usize; 4] = [1, 10, 1_000, 100_000];
/// Sessions that all rounds of one size have at least, so that the clock does not count.
const ENOUGH: usize = 300_000;

/// A line of the table: what it shows, and (how many, ns each or bytes).
pub type Line = (&'static str, Vec<(usize, f64)>);

/// Measures and prints the table; with `quick` the smaller sizes only.
pub fn growth(quick: bool, allocated: fn() -> usize) -> Vec<Line> {
    let mut lines: Vec<Line> = vec![
        ("connect", Vec::new()),
        ("heartbeat", Vec::new()),
        ("connection's end", Vec::new()),
        ("session's end", Vec::new()),
        ("bytes a session", Vec::new()),
    ];
    for count in SESSIONS.into_iter().filter(|it| !quick || *it <= 100_000) {
        let work = Work::new(count);
        let rounds: Vec<Round> =
            (0..(ENOUGH / count).clamp(3, 100)).map(|_| greendot(&work, allocated)).collect();
        let of = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure).collect());
        let figures = [
            of(|it| it.connect),
            of(|it| it.beat),
            of(|it| it.drop),
            of(|it| it.end),
            of(|it| it.bytes),
        ];
        for (line, figure) in lines.iter_mut().zip(figures) {
            line.1.push((count, figure));
        }
    }
    let watchers = WATCHERS.into_iter().filter(|it| !quick || *it <= 1_000);
    lines.push(("one change, a watcher", watchers.map(|it| (it, one_change(it).0)).collect()));
    for (what, points) in &lines {
        let unit = if what.starts_with("bytes") { "B" } else { "ns" };
        let points: Vec<String> =
            points.iter().map(|(count, figure)| format!("{count}: {figure:.1} {unit}")).collect();
        println!("{what:<24} {}", points.join("   "));
    }
    lines
}

/// The same as JSON: by what it shows, a list of [how many, figure].
pub fn json_of(lines: &[Line]) -> Value {
    lines.iter().map(|(what, points)| ((*what).to_owned(), json!(points))).collect()
}
