//! Tables and lists of fields. At a terminal, the last column wraps between words.

use task_loop::untrusted::printable;

use crate::output;
use crate::wrap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alignment {
    Left,
    Right,
}

/// Between two columns.
const GAP: &str = "  ";

#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Alignment>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Alignment)>) -> Self {
        let (headings, columns) =
            columns.into_iter().map(|(name, lean)| (name.to_owned(), lean)).unzip();
        Self { columns, rows: vec![headings] }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        // A name with a line end or an escape sequence must not break the rows.
        self.rows.push(cells.into_iter().map(|cell| printable(&cell)).collect());
    }

    /// The rows, each with more lines below it.
    pub(crate) fn with_below(&self, below: impl IntoIterator<Item = String>) -> String {
        // The heading has no lines below it.
        let below = std::iter::once(String::new()).chain(below);
        let rows = self.lines(output::columns()).into_iter().zip(below);
        rows.map(|(row, below)| format!("{row}\n{below}")).collect::<Vec<_>>().concat()
    }

    pub(crate) fn text(&self) -> String {
        self.lines(output::columns()).iter().map(|row| format!("{row}\n")).collect()
    }

    /// The rows, broken into lines of `width` columns if there is a width.
    fn lines(&self, width: Option<usize>) -> Vec<String> {
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| wrap::columns(cell)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(widest).collect();
        let row = |cells: &Vec<String>| {
            let mut line = String::new();
            for ((cell, alignment), width) in cells.iter().zip(&self.columns).zip(&widths) {
                if !line.is_empty() {
                    line.push_str(GAP);
                }
                let padding = " ".repeat(width - wrap::columns(cell));
                match alignment {
                    Alignment::Left => line.extend([cell, padding.as_str()]),
                    Alignment::Right => line.extend([padding.as_str(), cell]),
                }
            }
            let before_last = widths.split_last().map_or(&[][..], |(_, before)| before);
            let indent: usize = before_last.iter().map(|width| width + GAP.len()).sum();
            wrap::hanging(line.trim_end(), width, indent)
        };
        self.rows.iter().map(row).collect()
    }
}

/// Names and values, one line each.
pub(crate) fn fields(fields: &[(&str, String)]) -> String {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, value): &(&str, String)| {
        let line = format!("{name:<width$}{GAP}{value}");
        wrap::hanging(&line, output::columns(), width + GAP.len()) + "\n"
    };
    fields.iter().map(line).collect()
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
