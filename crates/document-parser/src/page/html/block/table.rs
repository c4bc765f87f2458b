//! Tables: data tables are rendered as tables, layout tables as their content.

use dom_query::NodeRef;

use super::super::is_one_of;
use super::{BlockRenderer, is_line_number};

/// Maximum columns of a table, and of one cell.
const MAX_COLUMNS: usize = 64;
const MAX_ROWS: usize = 1000;

struct Cell {
    text: String,
    is_head: bool,
}

pub(super) fn render(renderer: &mut BlockRenderer<'_>, table: &NodeRef<'_>) -> String {
    let rows = rows(table);
    if renderer.with_tables.contains(&table.id) || is_layout(table, &rows) {
        return layout_content(renderer, table, &rows);
    }
    let caption = table.children_it(false).find(|child| child.has_name("caption"));
    let caption = caption.map(|caption| renderer.inline.children(&caption).trim().to_owned());
    let grid = grid(renderer, &rows);
    let text = if renderer.is_markdown() { markdown(grid) } else { plain(&grid) };
    match caption.filter(|caption| !caption.is_empty()) {
        Some(caption) => format!("{caption}\n\n{text}"),
        None => text,
    }
}

/// The rows of this table without those of nested tables.
fn rows<'a>(table: &NodeRef<'a>) -> Vec<NodeRef<'a>> {
    let mut rows = Vec::new();
    for child in table.children_it(false) {
        if child.has_name("tr") {
            rows.push(child);
        } else if is_one_of(&child, &["thead", "tbody", "tfoot"]) {
            rows.extend(child.children_it(false).filter(|row| row.has_name("tr")));
        }
    }
    rows
}

fn cells<'a>(row: &NodeRef<'a>) -> Vec<NodeRef<'a>> {
    row.children_it(false).filter(|cell| is_one_of(cell, &["td", "th"])).collect()
}

fn is_layout(table: &NodeRef<'_>, rows: &[NodeRef<'_>]) -> bool {
    let role = table.attr("role").unwrap_or_default();
    if matches!(&*role, "presentation" | "none") {
        return true;
    }
    let widest = rows.iter().map(|row| cells(row).len()).max().unwrap_or_default();
    let has_head = table.descendants_it().any(|inner| inner.has_name("th"));
    let blocks = ["pre", "ul", "ol", "blockquote", "h1", "h2", "h3", "form"];
    let has_blocks = table.descendants_it().any(|inner| is_one_of(&inner, &blocks));
    let paragraphs = table.descendants_it().filter(|inner| inner.has_name("p")).count();
    widest < 2
        || (has_blocks && !has_head)
        || (!has_head && rows.len() < 2)
        || paragraphs > rows.len() * widest
}

fn layout_content(
    renderer: &mut BlockRenderer<'_>,
    table: &NodeRef<'_>,
    rows: &[NodeRef<'_>],
) -> String {
    let mut blocks = Vec::new();
    for child in table.children_it(false).filter(|child| child.has_name("caption")) {
        blocks.extend(renderer.blocks(&child));
    }
    for row in rows {
        for cell in cells(row).iter().filter(|cell| !is_line_number(cell)) {
            blocks.extend(renderer.blocks(cell));
        }
    }
    blocks.join("\n\n")
}

/// The cells in rows and columns; spanning cells leave the other positions empty.
fn grid(renderer: &mut BlockRenderer<'_>, rows: &[NodeRef<'_>]) -> Vec<Vec<Cell>> {
    let mut grid: Vec<Vec<Cell>> = Vec::new();
    // Rows for which each column is still spanned.
    let mut spanned: Vec<usize> = Vec::new();
    for row in rows {
        let mut line: Vec<Cell> = Vec::new();
        for cell in cells(row) {
            fill(&mut line, &mut spanned);
            let is_head = cell.has_name("th");
            let text = renderer.inline.children(&cell);
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let spans = |name: &str, most: usize| {
                let value = cell.attr(name).and_then(|value| value.trim().parse().ok());
                value.unwrap_or(1_usize).clamp(1, most)
            };
            let (wide, high) = (spans("colspan", MAX_COLUMNS), spans("rowspan", MAX_ROWS));
            for offset in 0..wide {
                if line.len() >= MAX_COLUMNS {
                    break;
                }
                let text = if offset == 0 { text.clone() } else { String::new() };
                line.push(Cell { text, is_head });
                if spanned.len() < line.len() {
                    spanned.resize(line.len(), 0);
                }
                if let Some(last) = spanned.get_mut(line.len() - 1) {
                    *last = high - 1;
                }
            }
        }
        fill(&mut line, &mut spanned);
        if line.iter().any(|cell| !cell.text.is_empty()) {
            grid.push(line);
        }
    }
    grid
}

/// Adds empty cells for spanned columns.
fn fill(line: &mut Vec<Cell>, spanned: &mut [usize]) {
    while let Some(rest) = spanned.get_mut(line.len()).filter(|rest| **rest > 0) {
        *rest -= 1;
        line.push(Cell { text: String::new(), is_head: false });
    }
}

fn markdown(grid: Vec<Vec<Cell>>) -> String {
    let columns = grid.iter().map(Vec::len).max().unwrap_or_default();
    let has_head = grid.first().is_some_and(|row| row.iter().all(|cell| cell.is_head));
    let mut lines = Vec::new();
    if !has_head {
        lines.push(format!("|{}", "  |".repeat(columns)));
        lines.push(format!("|{}", " --- |".repeat(columns)));
    }
    for (index, row) in grid.into_iter().enumerate() {
        let missing = columns - row.len();
        let cells = row.into_iter().map(|cell| format!(" {} |", cell.text.replace('|', "\\|")));
        lines.push(format!("|{}{}", cells.collect::<String>(), "  |".repeat(missing)));
        if index == 0 && has_head {
            lines.push(format!("|{}", " --- |".repeat(columns)));
        }
    }
    lines.join("\n")
}

fn plain(grid: &[Vec<Cell>]) -> String {
    let line = |row: &Vec<Cell>| {
        let cells: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
        cells.join("\t").trim_end().to_owned()
    };
    grid.iter().map(line).collect::<Vec<_>>().join("\n")
}
