//! Rows under headings, as wide as they need to be.

use task_loop::untrusted::printable;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alignment {
    Left,
    Right,
}

/// A table; the last column is never padded.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Alignment>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(columns: [(&str, Alignment); N]) -> Self {
        let headings = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        Self { columns: columns.iter().map(|(_, lean)| *lean).collect(), rows: vec![headings] }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        // A name with a line end or an escape sequence must not break the rows.
        self.rows.push(cells.into_iter().map(|cell| printable(&cell)).collect());
    }

    /// The rows as lines, each with more lines below it.
    pub(crate) fn with_below(&self, below: impl IntoIterator<Item = String>) -> String {
        let text = self.text();
        // The table has no rows.
        let below = std::iter::once(String::new()).chain(below);
        let rows = text.lines().zip(below).map(|(line, below)| format!("{line}\n{below}"));
        rows.collect::<Vec<_>>().concat()
    }

    pub(crate) fn text(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells =
                row.iter().zip(&self.columns).zip(&widths).map(
                    |((cell, lean), width)| match lean {
                        Alignment::Left => format!("{cell:<width$}"),
                        Alignment::Right => format!("{cell:>width$}"),
                    },
                );
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

/// Names and values, one line each.
pub(crate) fn fields(fields: &[(&str, String)]) -> String {
    let width = fields.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines = fields.iter().map(|(name, value)| format!("{name:<width$}  {value}\n"));
    lines.collect::<Vec<_>>().concat()
}

pub(crate) fn grouped(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(crate) fn amount(bytes: u64) -> String {
    let (giga, mega) = (1_000_000_000, 1_000_000);
    if bytes >= giga {
        format!("{}.{} GB", bytes / giga, bytes % giga / (giga / 10))
    } else {
        format!("{} MB", bytes / mega)
    }
}

pub(crate) fn counted(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table =
            Table::new([("a", Alignment::Left), ("n", Alignment::Right), ("z", Alignment::Left)]);
        table.row(["long".to_owned(), "1".to_owned(), "x".to_owned()]);
        table.row(["b".to_owned(), "100".to_owned(), String::new()]);
        assert_eq!(table.text(), "a       n  z\nlong    1  x\nb     100\n");
    }

    #[test]
    fn a_cell_stays_on_its_line() {
        let mut table = Table::new([("a", Alignment::Left), ("b", Alignment::Left)]);
        table.row(["x\ny\x1b[2J".to_owned(), "z".to_owned()]);
        assert_eq!(table.text().lines().count(), 2);
        assert!(!table.text().contains('\x1b'));
    }

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in
            [(0_u32, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")]
        {
            assert_eq!(grouped(number), text);
        }
        assert_eq!((counted(1, "tool"), counted(0, "tool")), ("1 tool".into(), "0 tools".into()));
    }

    #[test]
    fn amounts_are_short() {
        assert_eq!(amount(12_345_678_901), "12.3 GB");
        assert_eq!(amount(999_999_999), "999 MB");
    }
}
