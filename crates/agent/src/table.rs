//! Rows under headings, as wide as they need to be.

use task_loop::untrusted::printable;

/// A table; the last column is never padded.
#[derive(Debug)]
pub(crate) struct Table {
    /// The headings first.
    rows: Vec<Vec<String>>,
    is_right: Vec<bool>,
}

impl Table {
    /// A table whose columns are aligned to the left.
    pub(crate) fn new<'a>(headings: impl IntoIterator<Item = &'a str>) -> Self {
        let headings: Vec<String> = headings.into_iter().map(str::to_owned).collect();
        Self { is_right: vec![false; headings.len()], rows: vec![headings] }
    }

    /// Aligns the columns with these headings to the right, as numbers are.
    pub(crate) fn align_right(mut self, headings: &[&str]) -> Self {
        let all = self.rows.iter().take(1).flatten();
        self.is_right = all.map(|heading| headings.contains(&heading.as_str())).collect();
        self
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
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
        let widths: Vec<usize> = (0..self.is_right.len()).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(&self.is_right).zip(&widths);
            let cells = cells.map(|((cell, is_right), width)| {
                if *is_right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

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
mod tests;
