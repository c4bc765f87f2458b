//! Tables: columns as wide as their cells, or as the terminal allows.

use pulldown_cmark::Alignment;

use crate::output::DIM;
use crate::wrap::{Span, StyledLine, columns, lines};

/// No column is made narrower than this.
const MIN_COLUMNS: usize = 4;
const BETWEEN: usize = 3;

/// A table whose cells come one by one.
#[derive(Debug, Clone)]
pub(super) struct Table {
    sides: Vec<Alignment>,
    rows: Vec<Vec<Vec<Span>>>,
}

impl Table {
    pub(super) fn new(sides: Vec<Alignment>) -> Self {
        Self { sides, rows: Vec::new() }
    }

    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self, mut cell: Vec<Span>) {
        if self.rows.len() == 1 {
            for span in &mut cell {
                span.style = span.style.bold();
            }
        }
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// The table in so many columns of the terminal, if that is possible.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let widths = self.widths(width);
        let mut out = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cells: Vec<Vec<StyledLine>> =
                row.iter().zip(&widths).map(|(cell, width)| lines(cell, *width)).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
            for at in 0..height {
                let parts =
                    cells.iter().zip(&widths).zip(&self.sides).map(|((cell, width), side)| {
                        match cell.get(at) {
                            Some(line) => padded(line, *width, *side),
                            None => " ".repeat(*width),
                        }
                    });
                out.push(parts.collect::<Vec<_>>().join(&format!(" {DIM}│{DIM:#} ")));
            }
            if number == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                out.push(format!("{DIM}{}{DIM:#}", rules.join("─┼─")));
            }
        }
        out
    }

    /// As wide as the cells; the widest columns shrink first.
    fn widths(&self, width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = (0..self.sides.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                let wide = |cell: &Vec<Span>| cell.iter().map(|span| columns(&span.text)).sum();
                cells.map(wide).max().unwrap_or(0).clamp(1, width.max(1))
            })
            .collect();
        let room = width.saturating_sub(BETWEEN * widths.len().saturating_sub(1));
        if widths.len() * MIN_COLUMNS > room {
            return widths.into_iter().map(|width| width.min(MIN_COLUMNS)).collect();
        }
        while widths.iter().sum::<usize>() > room {
            if let Some(widest) = widths.iter_mut().max_by_key(|width| **width) {
                *widest -= 1;
            }
        }
        widths
    }
}

fn padded(line: &StyledLine, width: usize, side: Alignment) -> String {
    let room = width.saturating_sub(line.width);
    let left = match side {
        Alignment::Right => room,
        Alignment::Center => room / 2,
        Alignment::Left | Alignment::None => 0,
    };
    format!("{}{}{}", " ".repeat(left), line.text, " ".repeat(room - left))
}
