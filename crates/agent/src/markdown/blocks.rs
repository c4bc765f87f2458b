//! Where blocks of Markdown begin and end, told from single lines.

/// How many columns a line begins with; a tab is worth four.
pub(super) fn indentation(line: &str) -> usize {
    let blank = line.chars().take_while(|letter| matches!(letter, ' ' | '\t'));
    blank.map(|letter| if letter == '\t' { 4 } else { 1 }).sum()
}

pub(super) fn is_heading(line: &str) -> bool {
    let rest = line.trim_start().trim_start_matches('#');
    let level = line.trim_start().len() - rest.len();
    (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

pub(super) fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+']),
        1..=9 => line.get(digits..).and_then(|rest| rest.strip_prefix(['.', ')'])),
        _ => None,
    };
    // A line of hyphens is a rule, or makes a heading of the line above.
    rest.is_some_and(|rest| rest.starts_with([' ', '\t'])) && !is_rule(line)
}

fn is_rule(line: &str) -> bool {
    let mut marks = line.chars().filter(|letter| !matches!(letter, ' ' | '\t'));
    let Some(first) = marks.next().filter(|first| matches!(first, '-' | '*' | '_')) else {
        return false;
    };
    let rest: Vec<char> = marks.collect();
    rest.len() >= 2 && rest.iter().all(|mark| *mark == first)
}

/// Whether a line says where a reference leads: `[1]: https://…`. Parsers of Markdown take such
/// lines out of the text; people want to see them.
pub(super) fn is_definition(line: &str) -> bool {
    let label = line.trim_start().strip_prefix('[');
    label.and_then(|label| label.split_once(']')).is_some_and(|(label, rest)| {
        !label.trim().is_empty() && rest.starts_with(':') && !rest[1..].trim().is_empty()
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fence {
    mark: char,
    length: usize,
    indent: usize,
}

impl Fence {
    /// The fence that a line is the beginning of.
    pub(super) fn opened_by(line: &str) -> Option<Self> {
        let text = line.trim_start();
        let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let rest = text.trim_start_matches(mark);
        let length = text.len() - rest.len();
        let is_fence = length >= 3 && !(mark == '`' && rest.contains('`'));
        is_fence.then(|| Self { mark, length, indent: indentation(line) })
    }

    /// Whether a line is the end of it.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim();
        let rest = text.trim_start_matches(self.mark);
        rest.is_empty() && text.len() >= self.length
    }

    /// A line of its content: what the fence is indented by is no part of it.
    pub(super) fn content<'a>(&self, line: &'a str) -> &'a str {
        let blanks = line.bytes().take_while(|byte| *byte == b' ').count();
        line.get(blanks.min(self.indent)..).unwrap_or(line)
    }
}
