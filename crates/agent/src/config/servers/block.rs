//! Line edits of block mappings, based on indentation.

use settings::{Key, Node};

/// Indentation of a level, if the file does not show it.
pub(super) const STEP: usize = 2;

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

struct Section {
    header: usize,
    /// The line after its last one.
    until: usize,
    keys: Vec<usize>,
    indent: usize,
    step: usize,
}

/// Adds the section with one server at the end.
pub(super) fn section(
    text: &str,
    root: &Node,
    name: &str,
    server: &dyn Fn(usize) -> Vec<String>,
) -> String {
    let page = Page::new(text);
    let first = root.entries().first();
    let indent = first.map_or(0, |(key, _)| column_of(key));
    let mut added = vec![format!("{}{name}:", " ".repeat(indent))];
    added.extend(server(indent + STEP));
    let from = first.map_or(0, |(key, _)| line_of(key));
    let at = if first.is_some() { page.document_end(from) } else { page.lines.len() };
    page.with(at..at, &added)
}

/// Adds the first server to an empty section.
pub(super) fn begin(
    text: &str,
    root: &Node,
    key: &Key,
    server: &dyn Fn(usize) -> Vec<String>,
) -> Option<String> {
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
    let indent = root.entries().first().map_or(0, |(key, _)| column_of(key));
    lines.extend(server(indent + STEP));
    Some(page.with(line_of(key)..line_of(key) + 1, &lines))
}

pub(super) fn append(
    text: &str,
    around: &[&Node],
    section: (&Key, &Node),
    server: &dyn Fn(usize, usize) -> Vec<String>,
) -> Option<String> {
    let page = Page::new(text);
    let section = Section::of(&page, around, section)?;
    let last = section.keys.len().checked_sub(1)?;
    let mut lines = server(section.indent, section.step);
    // Entries separated by blank lines stay so.
    if last > 0 && page.is_blank(section.comments_of(&page, last).checked_sub(1)?) {
        lines.insert(0, String::new());
    }
    let at = section.end_of(&page, last);
    Some(page.with(at..at, &lines))
}

/// Replaces a server; the comments above it are kept.
pub(super) fn replace(
    text: &str,
    around: &[&Node],
    section: (&Key, &Node),
    key: &Key,
    server: &dyn Fn(usize, usize) -> Vec<String>,
) -> Option<String> {
    let page = Page::new(text);
    let section = Section::of(&page, around, section)?;
    let index = section.keys.iter().position(|line| *line == line_of(key))?;
    let range = section.keys[index]..section.end_of(&page, index);
    Some(page.with(range, &server(section.indent, section.step)))
}

pub(super) fn remove(
    text: &str,
    around: &[&Node],
    section: (&Key, &Node),
    key: &Key,
) -> Option<String> {
    let page = Page::new(text);
    let (section_key, section_node) = section;
    let section = Section::of(&page, around, section)?;
    let index = section.keys.iter().position(|line| *line == line_of(key))?;
    let mut from = section.comments_of(&page, index);
    let mut to = section.end_of(&page, index);
    let is_last = index + 1 == section.keys.len();
    // One of the blank lines around it is removed too.
    if is_last && index > 0 && page.is_blank(from - 1) {
        from -= 1;
    } else if !is_last && page.is_blank(to) && (index == 0 || page.is_blank(from - 1)) {
        to += 1;
    }
    if section_node.entries().len() > 1 {
        return Some(page.with(from..to, &[]));
    }
    let (head, rest) = cut_after_colon(&page, section_key)?;
    let keeps_words =
        (section.header + 1..from).chain(to..section.until).any(|line| !page.is_blank(line));
    let stands_last = section.until == page.document_end(section.header);
    if rest.trim().is_empty() && !keeps_words && stands_last {
        return Some(page.with(section.header..to, &[]));
    }
    let header = format!("{head} {{}}{}{}", rest.trim_end(), page.end);
    let kept = [&page.lines[section.header + 1..from], &page.lines[to..]].concat();
    Some(page.lines[..section.header].concat() + &header + &kept.concat())
}

/// Adds lines at the start of a mapping, indented like its keys.
pub(in crate::config) fn first_lines_of(
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

impl Section {
    /// A mapping within others; the next key of each of them also ends it.
    fn of(page: &Page<'_>, around: &[&Node], (key, node): (&Key, &Node)) -> Option<Self> {
        let header = line_of(key);
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
        Some(Section { header, until, keys, indent, step: step.unwrap_or(STEP) })
    }

    /// The line after the last one of an entry. Comments that are not indented deeper than the
    /// name are not part of it.
    fn end_of(&self, page: &Page<'_>, index: usize) -> usize {
        let until = self.keys.get(index + 1).copied().unwrap_or(self.until);
        let is_own = |line: &usize| {
            !page.is_blank(*line) && page.comment(*line).is_none_or(|depth| depth > self.indent)
        };
        (self.keys[index]..until).rev().find(is_own).map_or(until, |line| line + 1)
    }

    /// The first comment line of an entry, or its own line.
    fn comments_of(&self, page: &Page<'_>, index: usize) -> usize {
        let key = self.keys[index];
        let mut from = key;
        while from > self.header + 1 && page.comment(from - 1) == Some(self.indent) {
            from -= 1;
        }
        // A commented-out entry does not describe this one.
        let is_entry = page.lines[from..key].iter().any(|line| {
            let words = line.trim().trim_start_matches('#').trim();
            words.ends_with(':') && !words.contains(' ')
        });
        if is_entry { key } else { from }
    }
}
