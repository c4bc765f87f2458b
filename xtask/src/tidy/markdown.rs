//! As much of Markdown as the rules need: headings, fenced blocks, links and code spans.

use std::collections::BTreeMap;

/// What stands in a document, each with its line number.
#[derive(Debug, Default)]
pub(super) struct Document<'a> {
    pub(super) headings: Vec<Heading<'a>>,
    pub(super) fences: Vec<Fence<'a>>,
    /// Targets of links and pictures, and of reference definitions.
    pub(super) links: Vec<(usize, String)>,
    /// Texts of inline code spans.
    pub(super) spans: Vec<(usize, &'a str)>,
}

#[derive(Debug)]
pub(super) struct Heading<'a> {
    pub(super) level: usize,
    pub(super) text: &'a str,
}

#[derive(Debug)]
pub(super) struct Fence<'a> {
    pub(super) language: &'a str,
    pub(super) lines: Vec<(usize, &'a str)>,
}

impl<'a> Document<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let mut document = Self::default();
        let mut open_marker: Option<&str> = None;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            match (open_marker, fence_marker(line)) {
                (Some(open), Some((marker, ""))) if marker.starts_with(open) => open_marker = None,
                (Some(_), _) => {
                    if let Some(fence) = document.fences.last_mut() {
                        fence.lines.push((number, line));
                    }
                }
                (None, Some((marker, language))) => {
                    open_marker = Some(marker);
                    document.fences.push(Fence { language, lines: Vec::new() });
                }
                (None, None) => document.read_prose(number, line),
            }
        }
        document
    }

    /// The anchors that GitHub gives to the headings.
    pub(super) fn anchors(&self) -> Vec<String> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        self.headings
            .iter()
            .map(|heading| {
                let slug = slug(heading.text);
                let count = seen.entry(slug.clone()).or_default();
                *count += 1;
                if *count == 1 { slug } else { format!("{slug}-{}", *count - 1) }
            })
            .collect()
    }

    fn read_prose(&mut self, number: usize, line: &'a str) {
        self.headings.extend(heading(line));
        let (spans, rest) = split_spans(line);
        self.spans.extend(spans.into_iter().map(|span| (number, span)));
        let targets = inline_targets(&rest).into_iter().chain(definition_target(&rest));
        self.links.extend(targets.map(|target| (number, target.to_owned())));
    }
}

/// The backticks or tildes that open or close a block, and the language after them.
fn fence_marker(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = line.chars().take_while(|&other| other == sign).count();
    let (marker, rest) = line.split_at(length);
    let language = rest.trim().split([' ', ',']).next().unwrap_or_default();
    // "```x```" on one line is a code span.
    (length >= 3 && !rest.contains('`')).then_some((marker, language))
}

fn heading(line: &str) -> Option<Heading<'_>> {
    let level = line.chars().take_while(|&sign| sign == '#').count();
    let text = line[level..].strip_prefix(' ')?.trim();
    (1..=6).contains(&level).then_some(Heading { level, text })
}

/// The code spans of a line, and the line without them.
fn split_spans(line: &str) -> (Vec<&str>, String) {
    let mut spans = Vec::new();
    let mut rest = String::new();
    let mut remaining = line;
    while let Some(start) = remaining.find('`') {
        let (before, from_ticks) = remaining.split_at(start);
        rest.push_str(before);
        let length = from_ticks.chars().take_while(|&sign| sign == '`').count();
        let (ticks, inside) = from_ticks.split_at(length);
        let Some(end) = inside.find(ticks) else {
            remaining = inside;
            continue;
        };
        spans.push(inside[..end].trim());
        remaining = &inside[end + length..];
    }
    rest.push_str(remaining);
    (spans, rest)
}

/// Targets of `[text](target "title")` and `![text](<target>)`.
fn inline_targets(line: &str) -> Vec<&str> {
    line.match_indices("](")
        .filter_map(|(start, opening)| bare_target(&line[start + opening.len()..]))
        .collect()
}

/// The target of `[name]: target`, but not the text of a footnote.
fn definition_target(line: &str) -> Option<&str> {
    let (name, target) = line.trim_start().strip_prefix('[')?.split_once("]: ")?;
    if name.starts_with('^') || name.contains(']') {
        return None;
    }
    bare_target(target)
}

fn bare_target(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let target = match text.strip_prefix('<') {
        Some(bracketed) => bracketed.split_once('>')?.0,
        None => text.split([')', ' ']).next()?,
    };
    (!target.is_empty()).then_some(target)
}

/// The anchor of a heading: lower case, without punctuation, spaces as hyphens.
fn slug(heading: &str) -> String {
    without_link_targets(heading)
        .to_lowercase()
        .chars()
        .filter(|&letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

/// `[text](target)` counts in a slug as `text`.
fn without_link_targets(heading: &str) -> String {
    let mut text = String::new();
    let mut remaining = heading;
    while let Some((before, after)) = remaining.split_once("](") {
        text.push_str(before);
        remaining = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    text.push_str(remaining);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_every_form_are_read_and_code_is_not() {
        let text = "\
See [a](one.md), ![p](<two x.png>) and [b `code`](three.md#x \"title\").
Not `[c](code.md)`, [^1] nor [d].

[d]: four.md
[^1]: A note.
```md
[e](five.md)
```
";
        let targets: Vec<(usize, String)> = Document::parse(text).links;
        let expected = [(1, "one.md"), (1, "two x.png"), (1, "three.md#x"), (4, "four.md")];
        assert_eq!(targets, expected.map(|(line, target)| (line, target.to_owned())));
    }

    #[test]
    fn spans_are_read_with_any_number_of_backticks() {
        let document = Document::parse("`one` ``two ` ticks`` and a lone ` tick\n");
        assert_eq!(document.spans, [(1, "one"), (1, "two ` ticks")]);
    }

    #[test]
    fn blocks_know_their_language_and_end_at_their_own_marker() {
        let text = "````sh,copy\na\n```\nb\n````\n~~~\nc\n~~~\n";
        let document = Document::parse(text);
        let blocks: Vec<(&str, &[(usize, &str)])> =
            document.fences.iter().map(|fence| (fence.language, fence.lines.as_slice())).collect();
        assert_eq!(blocks, [("sh", &[(2, "a"), (3, "```"), (4, "b")][..]), ("", &[(7, "c")][..])]);
    }

    #[test]
    fn headings_are_read_outside_of_blocks_only() {
        let document = Document::parse("# One\n```sh\n# comment\n```\n## [Two](x.md)\n#three\n");
        let headings: Vec<(usize, &str)> =
            document.headings.iter().map(|heading| (heading.level, heading.text)).collect();
        assert_eq!(headings, [(1, "One"), (2, "[Two](x.md)")]);
    }

    #[test]
    fn anchors_follow_the_rule_of_github() {
        let text =
            "# `agent up`: start, now!\n## Same\n## Same\n## [Linked](x.md) a_b-c\n## Größe\n";
        assert_eq!(
            Document::parse(text).anchors(),
            ["agent-up-start-now", "same", "same-1", "linked-a_b-c", "größe"]
        );
    }
}
