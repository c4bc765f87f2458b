//! The parts of Markdown that the rules check: headings, fenced blocks, links and code spans.

use std::collections::BTreeMap;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::finding::line_at;

/// The parts of a document, with their line numbers.
#[derive(Debug, Default)]
pub(super) struct Document<'a> {
    pub(super) headings: Vec<Heading<'a>>,
    pub(super) fences: Vec<Fence<'a>>,
    /// Targets of inline links and images, then of reference definitions.
    pub(super) links: Vec<(usize, String)>,
    /// Contents of inline code spans.
    pub(super) spans: Vec<(usize, &'a str)>,
}

#[derive(Debug)]
pub(super) struct Heading<'a> {
    pub(super) level: usize,
    pub(super) text: &'a str,
    /// The text without markup.
    plain: String,
}

#[derive(Debug)]
pub(super) struct Fence<'a> {
    pub(super) language: String,
    pub(super) lines: Vec<(usize, &'a str)>,
}

/// The current block of the parser.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Heading,
    Fence,
    Other,
}

impl<'a> Document<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let parser = Parser::new_ext(text, Options::ENABLE_TABLES);
        let definitions = parser.reference_definitions().iter();
        let mut definitions: Vec<(usize, String)> = definitions
            .map(|(_, found)| (line_at(text, found.span.start), found.dest.to_string()))
            .collect();
        definitions.sort_unstable();
        let mut document = Self::default();
        let mut block = Block::Other;
        for (event, range) in parser.into_offset_iter() {
            let number = line_at(text, range.start);
            let source = &text[range];
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    let text = source.trim().trim_start_matches('#').trim();
                    let heading = Heading { level: level as usize, text, plain: String::new() };
                    document.headings.push(heading);
                    block = Block::Heading;
                }
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    let language = info.split([' ', ',']).next().unwrap_or_default().to_owned();
                    document.fences.push(Fence { language, lines: Vec::new() });
                    block = Block::Fence;
                }
                Event::End(TagEnd::Heading(_) | TagEnd::CodeBlock) => block = Block::Other,
                Event::Start(
                    Tag::Link { link_type: LinkType::Inline, dest_url, .. }
                    | Tag::Image { link_type: LinkType::Inline, dest_url, .. },
                ) => document.links.push((number, dest_url.to_string())),
                Event::Text(piece) => document.read_text(block, number, source, &piece),
                Event::Code(piece) => {
                    document.spans.push((number, source.trim_matches('`').trim()));
                    document.read_text(block, number, source, &piece);
                }
                _ => {}
            }
        }
        document.links.extend(definitions);
        document
    }

    fn read_text(&mut self, block: Block, number: usize, source: &'a str, plain: &str) {
        match (block, self.headings.last_mut(), self.fences.last_mut()) {
            (Block::Heading, Some(heading), _) => heading.plain.push_str(plain),
            (Block::Fence, _, Some(fence)) => fence.lines.extend((number..).zip(source.lines())),
            _ => {}
        }
    }

    /// The anchors that GitHub gives to the headings.
    pub(super) fn anchors(&self) -> Vec<String> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        self.headings
            .iter()
            .map(|heading| {
                let slug = slug(&heading.plain);
                let count = seen.entry(slug.clone()).or_default();
                *count += 1;
                if *count == 1 { slug } else { format!("{slug}-{}", *count - 1) }
            })
            .collect()
    }
}

/// The anchor of a heading: lower case, without punctuation, spaces as hyphens.
fn slug(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter(|&letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests;
