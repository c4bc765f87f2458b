//! Layout of Markdown blocks: indented, wrapped, styled lines.

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{Alignment, Event, Options, Parser, Tag, TagEnd};
use task_loop::untrusted::escaped_lines;

use crate::output::DIM;
use crate::wrap::{self, Span, StyledLine, columns, lines};

const CODE: Style = AnsiColor::Cyan.on_default();
const CODE_INDENT: &str = "    ";
/// Maximum nesting depth with indentation.
const MAX_DEPTH: usize = 8;
/// Minimum line width at any depth, in columns.
const MIN_COLUMNS: usize = 16;

#[derive(Debug, Clone, Default)]
pub(super) struct PageLayout {
    width: usize,
    out: String,
    /// Quotes and items, the innermost last.
    containers: Vec<Container>,
    /// Whether the last line is blank.
    is_apart: bool,
    /// The last line was added verbatim.
    is_literal: bool,
    /// The number of the next item of each list.
    lists: Vec<Option<u64>>,
    spans: Vec<Span>,
    styles: Vec<Style>,
    /// Link targets, and where their texts begin.
    links: Vec<(String, usize)>,
    code: Option<String>,
    table: Option<Table>,
}

#[derive(Debug, Clone)]
struct Container {
    /// Prefix of the first line.
    first: Option<String>,
    rest: String,
    columns: usize,
    is_tight: bool,
    /// Whether it is empty.
    is_fresh: bool,
}

impl Container {
    fn new(first: Option<String>, rest: String) -> Self {
        let columns = columns(&anstream::adapter::strip_str(&rest).to_string());
        Self { first, rest, columns, is_tight: false, is_fresh: true }
    }
}

impl PageLayout {
    pub(super) fn new(width: usize) -> Self {
        let containers = vec![Container::new(None, String::new())];
        Self { width, containers, ..Self::default() }
    }

    /// The text since the last call.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    pub(super) fn blocks(&mut self, text: &str) {
        let options =
            Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        let mut events = Parser::new_ext(text, options).peekable();
        while let Some(event) = events.next() {
            let begins_paragraph = matches!(events.peek(), Some(Event::Start(Tag::Paragraph)));
            match event {
                Event::Start(Tag::Item) => self.begin_item(begins_paragraph),
                Event::Start(tag) => self.begin(tag),
                Event::End(tag) => self.end(tag),
                other => self.inline(&other),
            }
        }
        self.end_text();
    }

    pub(super) fn literal(&mut self, line: &str) {
        // Several of them belong together.
        if !self.is_literal {
            self.part();
        }
        self.spans.push(Span::new(Style::new(), escaped_lines(line.trim())));
        self.end_text();
        self.is_literal = true;
    }

    pub(super) fn code_line(&mut self, line: &str) {
        let line = escaped_lines(line).replace('\t', CODE_INDENT);
        let line = if line.is_empty() { line } else { format!("{CODE}{line}{CODE:#}") };
        self.emit(&format!("{CODE_INDENT}{line}"));
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.part(),
            Tag::Heading { level, .. } => {
                self.part();
                let marks = "#".repeat(level as usize);
                self.spans.push(Span::new(DIM, format!("{marks} ")));
                self.styles.push(self.style().bold());
            }
            Tag::BlockQuote(_) => {
                self.end_text();
                self.part();
                self.enter(None, format!("{DIM}│{DIM:#} "), false);
            }
            Tag::CodeBlock(_) => {
                self.end_text();
                self.part();
                self.code = Some(String::new());
            }
            Tag::List(start) => {
                self.end_text();
                self.part();
                self.lists.push(start);
            }
            Tag::Table(sides) => {
                self.part();
                self.table = Some(Table { sides, rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.styles.push(self.style().italic()),
            Tag::Strong => self.styles.push(self.style().bold()),
            Tag::Strikethrough => self.styles.push(self.style().strikethrough()),
            Tag::Link { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.spans.len()));
                self.styles.push(self.style().underline());
            }
            Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.spans.len()));
                self.spans.push(Span::new(DIM, "image: "));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_text(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_text();
            }
            TagEnd::BlockQuote(_) | TagEnd::Item => self.leave(),
            TagEnd::CodeBlock => {
                for line in self.code.take().unwrap_or_default().lines() {
                    self.code_line(line);
                }
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::Table => {
                let lines = self.table.take().map(|table| table.lines(self.columns()));
                for line in lines.unwrap_or_default() {
                    self.emit(&line);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link => {
                self.styles.pop();
                self.end_link();
            }
            TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn inline(&mut self, event: &Event<'_>) {
        let style = self.style();
        match event {
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(text),
                None => self.spans.push(Span::new(style, escaped_lines(text))),
            },
            Event::Code(text) => {
                self.spans.push(Span::new(CODE, format!("`{}`", escaped_lines(text))));
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                self.spans.push(Span::new(style, escaped_lines(text)));
            }
            Event::SoftBreak => self.spans.push(Span::new(style, " ")),
            Event::HardBreak => self.spans.push(Span::new(style, "\n")),
            Event::TaskListMarker(is_done) => {
                let mark = if *is_done { "[x] " } else { "[ ] " };
                self.spans.push(Span::new(Style::new(), mark));
            }
            Event::Rule => {
                self.part();
                let line = "─".repeat(self.columns());
                self.emit(&format!("{DIM}{line}{DIM:#}"));
            }
            _ => {}
        }
    }

    /// A link is followed by its address, unless its text is the address.
    fn end_link(&mut self) {
        let Some((target, begin)) = self.links.pop() else { return };
        let said: String = self.spans.iter().skip(begin).map(|span| span.text.as_str()).collect();
        let target = escaped_lines(&target);
        if !target.is_empty() && said != target && format!("mailto:{said}") != target {
            self.spans.push(Span::new(DIM, format!(" ({target})")));
        }
    }

    fn begin_item(&mut self, is_loose: bool) {
        if is_loose {
            self.part();
        }
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number += 1;
                marker
            }
            _ => "• ".to_owned(),
        };
        let rest = " ".repeat(columns(&marker));
        self.enter(Some(marker), rest, !is_loose);
    }

    fn enter(&mut self, first: Option<String>, rest: String, is_tight: bool) {
        let is_too_deep = self.containers.len() > MAX_DEPTH;
        let mut container = if is_too_deep {
            Container::new(None, String::new())
        } else {
            Container::new(first, rest)
        };
        container.is_tight = is_tight;
        self.containers.push(container);
    }

    fn leave(&mut self) {
        self.end_text();
        let is_empty = self.containers.last().is_some_and(|last| last.is_fresh);
        if is_empty && self.containers.last().is_some_and(|last| last.first.is_some()) {
            // An empty item is still printed.
            self.emit("");
        }
        self.containers.pop();
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn columns(&self) -> usize {
        let taken: usize = self.containers.iter().map(|container| container.columns).sum();
        self.width.saturating_sub(taken).max(MIN_COLUMNS)
    }

    /// A blank line before a block that follows another.
    pub(super) fn part(&mut self) {
        let is_close = self.containers.last().is_none_or(|last| last.is_fresh || last.is_tight);
        if is_close || self.is_apart {
            return;
        }
        self.emit("");
        self.is_apart = true;
    }

    /// Writes the text of a complete block.
    fn end_text(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        for line in wrap::lines(&spans, self.columns()) {
            self.emit(&line.text);
        }
    }

    fn emit(&mut self, line: &str) {
        let mut whole = String::new();
        for container in &mut self.containers {
            container.is_fresh = false;
            match container.first.take() {
                Some(first) => whole.push_str(&first),
                None => whole.push_str(&container.rest),
            }
        }
        whole.push_str(line);
        self.out.push_str(whole.trim_end());
        self.out.push('\n');
        self.is_apart = false;
        self.is_literal = false;
    }
}

const MIN_CELL_COLUMNS: usize = 4;
const BETWEEN: usize = 3;

#[derive(Debug, Clone)]
struct Table {
    sides: Vec<Alignment>,
    rows: Vec<Vec<Vec<Span>>>,
}

impl Table {
    fn cell(&mut self, mut cell: Vec<Span>) {
        if self.rows.len() == 1 {
            for span in &mut cell {
                span.style = span.style.bold();
            }
        }
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// The table at this terminal width, if it fits.
    fn lines(&self, width: usize) -> Vec<String> {
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
        if widths.len() * MIN_CELL_COLUMNS > room {
            return widths.into_iter().map(|width| width.min(MIN_CELL_COLUMNS)).collect();
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
