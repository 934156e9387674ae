//! The table of growth as a picture.

use std::fmt::Write as _;

use super::growth::Line;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
/// Where the drawing begins and ends.
const LEFT: f64 = 60.0;
const RIGHT: f64 = WIDTH - 190.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = HEIGHT - 50.0;
/// Told apart on white and on black, and by most eyes.
const COLOURS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b"];

/// Draws all lines but the bytes: both axes by powers of ten.
pub fn picture(lines: &[Line]) -> String {
    let lines: Vec<&Line> = lines.iter().filter(|it| !it.0.starts_with("bytes")).collect();
    let points = || lines.iter().flat_map(|it| &it.1);
    let most = points().map(|it| it.0).max().unwrap_or(1) as f64;
    let (right, top) =
        (most.log10().ceil(), points().map(|it| it.1).fold(10.0, f64::max).log10().ceil());
    let x = |count: f64| LEFT + count.log10() / right * (RIGHT - LEFT);
    let y = |nanos: f64| BOTTOM - nanos.max(1.0).log10() / top * (BOTTOM - TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">Cost of an operation, in ns, by what a node holds\
         </text>\n"
    );
    for power in 0..=right as i32 {
        let (at, label) = (x(10f64.powi(power)), count(10u64.pow(power as u32)));
        _ = writeln!(
            svg,
            "<path d=\"M{at:.1} {TOP}V{BOTTOM}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            BOTTOM + 18.0
        );
    }
    for power in 0..=top as i32 {
        let (at, label) = (y(10f64.powi(power)), count(10u64.pow(power as u32)));
        _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {at:.1}H{RIGHT}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            LEFT - 8.0,
            at + 4.0
        );
    }
    _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">sessions, or watchers of one user</text>",
        (LEFT + RIGHT) / 2.0,
        HEIGHT - 12.0
    );
    let mut labels: Vec<(f64, String)> = Vec::new();
    for ((what, points), colour) in lines.iter().zip(COLOURS) {
        let path: Vec<String> = points
            .iter()
            .map(|(count, ns)| format!("{:.1},{:.1}", x(*count as f64), y(*ns)))
            .collect();
        _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            path.join(" ")
        );
        if let Some((_, ns)) = points.last() {
            labels.push((y(*ns), format!("fill=\"{colour}\">{what}, {ns:.0} ns")));
        }
    }
    // Below each other, where lines end close together.
    labels.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut above = f64::MIN;
    for (at, label) in labels {
        above = at.max(above + 15.0);
        _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" {label}</text>",
            RIGHT + 10.0,
            above + 4.0
        );
    }
    svg + "</svg>\n"
}

fn count(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}M", number / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_drawn_and_named() {
        let lines: Vec<Line> = vec![
            ("connect", vec![(1_000, 100.0), (4_000_000, 300.0)]),
            ("bytes a session", vec![(1_000, 120.0)]),
            ("one change, a watcher", vec![(1, 900.0), (100_000, 9.0)]),
        ];
        let svg = picture(&lines);
        assert_eq!(svg.matches("<polyline").count(), 2);
        for text in ["connect, 300 ns", "one change, a watcher, 9 ns", ">10M<", ">1k<"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
