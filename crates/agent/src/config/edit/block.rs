//! Line edits of block mappings, based on indentation.

use settings::{Key, Node};

/// Indentation of a level, if the file does not show it.
pub(in crate::config) const STEP: usize = 2;

/// The line of a key, from 0.
fn line_of(key: &Key) -> usize {
    key.position.line.saturating_sub(1)
}

/// The column of a key, from 0.
fn column_of(key: &Key) -> usize {
    key.position.column.saturating_sub(1)
}

/// The lines of a text, with their ends.
struct Page<'t> {
    lines: Vec<&'t str>,
    end: &'static str,
}

/// Lines at an indentation, with a step per level.
type Lines<'l> = &'l dyn Fn(usize, usize) -> Vec<String>;

/// Adds an entry at the end of the document.
pub(super) fn section(text: &str, root: &Node, lines: Lines<'_>) -> String {
    let page = Page::new(text);
    let Some((key, _)) = root.entries().first() else {
        return page.with(page.lines.len()..page.lines.len(), &lines(0, STEP));
    };
    let at = page.document_end(line_of(key));
    page.with(at..at, &lines(column_of(key), STEP))
}

/// Adds lines below a key without a value.
pub(super) fn begin(text: &str, key: &Key, below: Lines<'_>) -> Option<String> {
    let page = Page::new(text);
    let (head, rest) = cut_after_colon(&page, key)?;
    let (value, comment) = match rest.find('#') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    if !["", "~", "null", "Null", "NULL", "{}", "{ }"].contains(&value.trim()) {
        return None;
    }
    let gap = if comment.is_empty() { "" } else { " " };
    let mut lines = vec![format!("{head}{gap}{comment}")];
    lines.extend(below(column_of(key), STEP));
    Some(page.with(line_of(key)..line_of(key) + 1, &lines))
}

/// Adds lines at the start of a mapping, indented like its keys.
pub(super) fn first_lines_of(
    text: &str,
    key: &Key,
    node: &Node,
    lines: &[String],
) -> Option<String> {
    let page = Page::new(text);
    let (first, _) = node.entries().first()?;
    if line_of(first) <= line_of(key) || column_of(first) <= column_of(key) {
        return None;
    }
    let at = line_of(key) + 1;
    let pad = " ".repeat(column_of(first));
    let lines: Vec<String> = lines.iter().map(|line| format!("{pad}{line}")).collect();
    Some(page.with(at..at, &lines))
}

/// The line of a key, split after its colon.
fn cut_after_colon<'t>(page: &Page<'t>, key: &Key) -> Option<(&'t str, &'t str)> {
    let line = page.lines.get(line_of(key))?;
    let start: usize = page.lines[..line_of(key)].iter().map(|line| line.len()).sum();
    let after = key.span.start.checked_add(key.span.length)?.checked_sub(start)?;
    let colon = after + line.get(after..)?.find(':')? + 1;
    let line = line.trim_end_matches(['\r', '\n']);
    Some(line.split_at(colon))
}

impl<'t> Page<'t> {
    fn new(text: &'t str) -> Self {
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Page { lines: text.split_inclusive('\n').collect(), end }
    }

    fn is_blank(&self, line: usize) -> bool {
        self.lines.get(line).is_some_and(|line| line.trim().is_empty())
    }

    /// The indentation of a comment line.
    fn comment(&self, line: usize) -> Option<usize> {
        let line = self.lines.get(line)?;
        let words = line.trim_start_matches(' ');
        words.starts_with('#').then(|| line.len() - words.len())
    }

    /// The line that ends the document, or the one after the last.
    fn document_end(&self, from: usize) -> usize {
        let is_end = |line: &&str| line.trim_end() == "..." || line.starts_with("... ");
        let found = self.lines.iter().skip(from).position(is_end);
        found.map_or(self.lines.len(), |at| from + at)
    }

    /// The text with a range of lines replaced.
    fn with(&self, range: std::ops::Range<usize>, lines: &[String]) -> String {
        let mut text = self.lines[..range.start].concat();
        if !lines.is_empty() && !text.is_empty() && !text.ends_with('\n') {
            text.push_str(self.end);
        }
        for line in lines {
            text.push_str(line);
            text.push_str(self.end);
        }
        text + &self.lines[range.end..].concat()
    }
}

/// A block mapping that has keys.
pub(super) struct Section<'t> {
    page: Page<'t>,
    key: &'t Key,
    node: &'t Node,
    header: usize,
    /// The line after its last one.
    until: usize,
    keys: Vec<usize>,
    indent: usize,
    step: usize,
}

impl<'t> Section<'t> {
    /// A mapping within others; the next key of each of them also ends it.
    pub(super) fn of(
        text: &'t str,
        around: &[&Node],
        (key, node): (&'t Key, &'t Node),
    ) -> Option<Self> {
        let (page, header) = (Page::new(text), line_of(key));
        let later = around.iter().flat_map(|node| node.entries()).map(|(key, _)| line_of(key));
        let until = later.filter(|line| *line > header).min();
        let until = until.unwrap_or_else(|| page.document_end(header));
        // Entries from a merge key are elsewhere.
        let mut own =
            node.entries().iter().filter(|(key, _)| (header + 1..until).contains(&line_of(key)));
        let (first, first_node) = own.next()?;
        let indent = column_of(first);
        let mut keys = vec![line_of(first)];
        keys.extend(own.map(|(key, _)| line_of(key)));
        let inner = first_node.entries().first().map(|(key, _)| key);
        let step = inner
            .filter(|inner| line_of(inner) > line_of(first))
            .and_then(|inner| column_of(inner).checked_sub(indent))
            .filter(|step| *step > 0);
        Some(Section { page, key, node, header, until, keys, indent, step: step.unwrap_or(STEP) })
    }

    /// Adds an entry after the others.
    pub(super) fn append(&self, lines: Lines<'_>) -> Option<String> {
        let last = self.keys.len().checked_sub(1)?;
        let mut lines = lines(self.indent, self.step);
        // Entries separated by blank lines stay so.
        if last > 0 && self.page.is_blank(self.comments_of(last).checked_sub(1)?) {
            lines.insert(0, String::new());
        }
        let at = self.end_of(last);
        Some(self.page.with(at..at, &lines))
    }

    /// Replaces an entry; the comments above it are kept.
    pub(super) fn replace(&self, key: &Key, lines: Lines<'_>) -> Option<String> {
        let index = self.index_of(key)?;
        let range = self.keys[index]..self.end_of(index);
        Some(self.page.with(range, &lines(self.indent, self.step)))
    }

    pub(super) fn remove(&self, key: &Key) -> Option<String> {
        let (page, index) = (&self.page, self.index_of(key)?);
        let (mut from, mut to) = (self.comments_of(index), self.end_of(index));
        let is_last = index + 1 == self.keys.len();
        // One of the blank lines around it is removed too.
        if is_last && index > 0 && page.is_blank(from - 1) {
            from -= 1;
        } else if !is_last && page.is_blank(to) && (index == 0 || page.is_blank(from - 1)) {
            to += 1;
        }
        if self.node.entries().len() > 1 {
            return Some(page.with(from..to, &[]));
        }
        let (head, rest) = cut_after_colon(page, self.key)?;
        let keeps_words =
            (self.header + 1..from).chain(to..self.until).any(|line| !page.is_blank(line));
        let stands_last = self.until == page.document_end(self.header);
        if rest.trim().is_empty() && !keeps_words && stands_last {
            return Some(page.with(self.header..to, &[]));
        }
        let header = format!("{head} {{}}{}{}", rest.trim_end(), page.end);
        let kept = [&page.lines[self.header + 1..from], &page.lines[to..]].concat();
        Some(page.lines[..self.header].concat() + &header + &kept.concat())
    }

    fn index_of(&self, key: &Key) -> Option<usize> {
        self.keys.iter().position(|line| *line == line_of(key))
    }

    /// The line after the last one of an entry. Comments that are not indented deeper than the
    /// name are not part of it.
    fn end_of(&self, index: usize) -> usize {
        let until = self.keys.get(index + 1).copied().unwrap_or(self.until);
        let is_own = |line: &usize| {
            let comment = self.page.comment(*line);
            !self.page.is_blank(*line) && comment.is_none_or(|depth| depth > self.indent)
        };
        (self.keys[index]..until).rev().find(is_own).map_or(until, |line| line + 1)
    }

    /// The first comment line of an entry, or its own line.
    fn comments_of(&self, index: usize) -> usize {
        let key = self.keys[index];
        let mut from = key;
        while from > self.header + 1 && self.page.comment(from - 1) == Some(self.indent) {
            from -= 1;
        }
        // A commented-out entry does not describe this one.
        let is_entry = self.page.lines[from..key].iter().any(|line| {
            let words = line.trim().trim_start_matches('#').trim();
            words.ends_with(':') && !words.contains(' ')
        });
        if is_entry { key } else { from }
    }
}
