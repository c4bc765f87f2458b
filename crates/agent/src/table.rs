//! Tables and lists of fields. At a terminal, the last column wraps between words; a row that leaves
//! it too little room becomes a block of lines.

use serde::Serialize;
use task_loop::untrusted::printable;

use crate::diagnostic::{Diagnostic, Result};
use crate::output::{self, Output};
use crate::wrap::{self, GAP, MIN_CONTINUATION};

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

    /// Aligns the columns with these headings to the right, for numbers.
    pub(crate) fn align_right(mut self, headings: &[&str]) -> Self {
        let all = self.rows.iter().take(1).flatten();
        self.is_right = all.map(|heading| headings.contains(&heading.as_str())).collect();
        self
    }

    pub(crate) fn rows<const N: usize>(mut self, rows: impl Iterator<Item = [String; N]>) -> Self {
        rows.for_each(|cells| self.row(cells));
        self
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        // A line end or an escape sequence in a name must not break the rows.
        self.rows.push(cells.into_iter().map(|cell| printable(&cell)).collect());
    }

    /// The rows, each with more lines below it.
    pub(crate) fn with_below(&self, below: impl IntoIterator<Item = String>) -> String {
        // The heading has no lines below it.
        let below = std::iter::once(String::new()).chain(below);
        let rows = self.lines(output::columns()).into_iter().zip(below);
        rows.map(|(row, below)| row + &below).collect()
    }

    pub(crate) fn text(&self) -> String {
        self.lines(output::columns()).concat()
    }

    /// Prints the value for programs; for people the table, or a note if it has no rows.
    pub(crate) fn print(&self, output: &Output, value: &impl Serialize, none: &str) -> Result {
        let is_empty = self.rows.len() == 1;
        if is_empty { output.print_or_note(value, none) } else { output.print(value, self.text()) }
    }

    /// The headings and rows, broken into lines of `width` columns if there is a width.
    fn lines(&self, width: Option<usize>) -> Vec<String> {
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| wrap::columns(cell)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.is_right.len()).map(widest).collect();
        let (last, before) = widths.split_last().unwrap_or((&0, &[]));
        let indent: usize = before.iter().map(|width| width + GAP.len()).sum();
        if width.is_some_and(|width| indent + last.min(&MIN_CONTINUATION) > width) {
            return self.blocks();
        }
        let row = |cells: &Vec<String>| {
            let mut line = String::new();
            for ((cell, is_right), width) in cells.iter().zip(&self.is_right).zip(&widths) {
                if !line.is_empty() {
                    line.push_str(GAP);
                }
                let padding = " ".repeat(width - wrap::columns(cell));
                line += &if *is_right { padding + cell } else { format!("{cell}{padding}") };
            }
            wrap::hanging(line.trim_end(), width, indent) + "\n"
        };
        self.rows.iter().map(row).collect()
    }

    /// No headings, and each row as lines of a heading and a cell.
    fn blocks(&self) -> Vec<String> {
        let headings: Vec<&str> = self.rows.iter().take(1).flatten().map(String::as_str).collect();
        let block = |(at, cells): (usize, &Vec<String>)| {
            let cells = headings.iter().copied().zip(cells.iter().cloned());
            let block = fields(&cells.filter(|(_, cell)| !cell.is_empty()).collect::<Vec<_>>());
            match at {
                0 => String::new(),
                1 => block,
                _ => format!("\n{block}"),
            }
        };
        self.rows.iter().enumerate().map(block).collect()
    }
}

pub(crate) fn fields(fields: &[(&str, String)]) -> String {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, value): &(&str, String)| format!("{name:<width$}{GAP}{value}\n");
    fields.iter().map(line).collect()
}

/// Comma-separated values, the headings first.
pub(crate) fn csv(lines: impl Iterator<Item = Vec<String>>) -> Result<Vec<u8>> {
    let cannot =
        |error: csv::Error| Diagnostic::failed("cannot write the values as CSV").because(&error);
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer.write_record(line).map_err(cannot)?;
    }
    writer.into_inner().map_err(|error| cannot(error.into_error().into()))
}

/// Indented lines of a name and a value, below a heading.
pub(crate) fn details(lines: &[(&str, String)]) -> String {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line =
        |(name, value): &(&str, String)| format!("  {name:<width$}{GAP}{}\n", printable(value));
    lines.iter().map(line).collect()
}

pub(crate) fn grouped(number: impl Into<u64>) -> String {
    pages::count(number.into())
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
