//! Plain tables and numbers for the terminal.

use std::time::Duration;

/// Lays rows out in columns: the first is aligned left, the others (numbers) right.
pub(crate) fn render<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or_default()
    });
    let line = |cells: [&str; N]| {
        let cells =
            cells.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    let rule = widths.map(|width| "-".repeat(width));
    let mut text = line(head) + &line(rule.each_ref().map(String::as_str));
    for row in rows {
        text.push_str(&line(row.each_ref().map(String::as_str)));
    }
    text
}

/// `12,345`
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `4.2 s`, `3 min 07 s`
pub(crate) fn duration(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        secs => format!("{} min {:02} s", secs / 60, secs % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_left_and_numbers_right() {
        let rows = [["wasm".into(), grouped(12_037)], ["js".into(), grouped(7)]];
        let expected = "file   bytes\n----  ------\nwasm  12,037\njs         7\n";
        assert_eq!(render(["file", "bytes"], &rows), expected);
    }

    #[test]
    fn digits_are_grouped_by_three() {
        let texts = [0, 999, 1_000, 123_456, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "123,456", "1,234,567"]);
    }

    #[test]
    fn durations_read_well_at_every_size() {
        let texts = [0.04, 59.94, 60.0, 187.9].map(|secs| duration(Duration::from_secs_f64(secs)));
        assert_eq!(texts, ["0.0 s", "59.9 s", "1 min 00 s", "3 min 07 s"]);
    }
}
