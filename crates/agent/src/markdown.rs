//! Streaming Markdown for a terminal: finished parts are printed at once.
//!
//! Blocks are cut here, line by line, so that the result does not depend on how the text
//! arrived; [`layout`] makes lines of each.

mod layout;

use self::layout::PageLayout;

/// Maximum length of a line, in bytes; a longer one is split.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// Maximum length of a block, in bytes; a longer one is split.
const MAX_BLOCK_BYTES: usize = 256 * 1024;

/// Maximum length of an unfinished block that is previewed, in bytes.
const MAX_PREVIEW_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone, Default)]
pub(crate) struct Renderer {
    page: PageLayout,
    /// The unfinished line.
    line: String,
    /// The lines of the unfinished block.
    lines: String,
    block: Block,
    is_after_blank: bool,
    /// The open code block, whose lines are printed as they arrive.
    fence: Option<Fence>,
    inner_fence: Option<Fence>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Block {
    #[default]
    None,
    Plain,
    /// A list, which continues after blank lines.
    List,
    Indented,
}

impl Renderer {
    pub(crate) fn new(width: usize) -> Self {
        Self { page: PageLayout::new(width), ..Self::default() }
    }

    /// Adds text; returns the printable part.
    pub(crate) fn push(&mut self, text: &str) -> String {
        for letter in text.chars() {
            let is_end = letter == '\n';
            if is_end || self.line.len() >= MAX_LINE_BYTES {
                self.end_line();
            }
            if !is_end {
                self.line.push(letter);
            }
        }
        self.page.take()
    }

    /// The unfinished block as it looks so far, without the end of its last line. Empty if it is
    /// too long to be redrawn with each piece.
    pub(crate) fn preview(&self) -> String {
        if self.lines.len() + self.line.len() > MAX_PREVIEW_BYTES {
            return String::new();
        }
        self.clone().finish().trim_end_matches('\n').to_owned()
    }

    /// Ends the text; returns the rest.
    pub(crate) fn finish(&mut self) -> String {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_block();
        self.fence = None;
        self.page.take()
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        if line.ends_with('\r') {
            line.pop();
        }
        if let Some(fence) = &self.fence {
            if fence.is_closed_by(&line) {
                self.fence = None;
            } else {
                self.page.code_line(fence.content(&line));
            }
        } else if let Some(fence) = &self.inner_fence {
            if fence.is_closed_by(&line) {
                self.inner_fence = None;
            }
            self.keep(&line);
        } else {
            self.take(&line);
        }
    }

    /// Processes a line outside of code.
    fn take(&mut self, line: &str) {
        if line.trim().is_empty() {
            match self.block {
                Block::None => {}
                Block::Plain => self.end_block(),
                Block::List | Block::Indented => {
                    self.is_after_blank = true;
                    self.keep("");
                }
            }
            return;
        }
        let indent = indentation(line);
        let goes_on = match self.block {
            Block::List => indent >= 2 || is_item(line),
            Block::Indented => indent >= 4,
            Block::None | Block::Plain => true,
        };
        if std::mem::take(&mut self.is_after_blank) && !goes_on {
            self.end_block();
        }
        let is_inside = self.block == Block::List && indent >= 2;
        if let Some(fence) = Fence::opened_by(line) {
            if is_inside {
                self.inner_fence = Some(fence);
                self.keep(line);
                return;
            }
            if indent < 4 {
                self.end_block();
                self.page.part();
                self.fence = Some(fence);
                return;
            }
        }
        if indent < 4 && !is_inside {
            if is_heading(line) {
                self.end_block();
                self.keep_first(line, Block::Plain);
                self.end_block();
                return;
            }
            if self.block == Block::None && is_definition(line) {
                self.page.literal(line);
                return;
            }
            if self.block == Block::Plain && is_item(line) {
                self.end_block();
            }
        }
        if self.block == Block::None {
            let block = match indent {
                4.. => Block::Indented,
                _ if is_item(line) => Block::List,
                _ => Block::Plain,
            };
            self.keep_first(line, block);
        } else {
            self.keep(line);
        }
    }

    fn keep_first(&mut self, line: &str, block: Block) {
        self.block = block;
        self.keep(line);
    }

    fn keep(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
        if self.lines.len() > MAX_BLOCK_BYTES {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        self.block = Block::None;
        self.is_after_blank = false;
        self.inner_fence = None;
        if !lines.is_empty() {
            self.page.blocks(&lines);
        }
    }
}

pub(crate) fn rendered(text: &str, width: usize) -> String {
    let mut renderer = Renderer::new(width);
    let begin = renderer.push(text);
    begin + &renderer.finish()
}

/// The indentation of a line in columns; a tab counts as four.
fn indentation(line: &str) -> usize {
    let blank = line.chars().take_while(|letter| matches!(letter, ' ' | '\t'));
    blank.map(|letter| if letter == '\t' { 4 } else { 1 }).sum()
}

fn is_heading(line: &str) -> bool {
    let rest = line.trim_start().trim_start_matches('#');
    let level = line.trim_start().len() - rest.len();
    (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+']),
        1..=9 => line.get(digits..).and_then(|rest| rest.strip_prefix(['.', ')'])),
        _ => None,
    };
    // A line of hyphens is a rule, or makes the line above a heading.
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

/// Whether a line defines a reference: `[1]: https://…`. Markdown parsers remove such lines;
/// people want to see them.
fn is_definition(line: &str) -> bool {
    let label = line.trim_start().strip_prefix('[');
    label.and_then(|label| label.split_once(']')).is_some_and(|(label, rest)| {
        !label.trim().is_empty() && rest.starts_with(':') && !rest[1..].trim().is_empty()
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
}

impl Fence {
    /// The fence that a line opens.
    fn opened_by(line: &str) -> Option<Self> {
        let text = line.trim_start();
        let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let rest = text.trim_start_matches(mark);
        let length = text.len() - rest.len();
        let is_fence = length >= 3 && !(mark == '`' && rest.contains('`'));
        is_fence.then(|| Self { mark, length, indent: indentation(line) })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim();
        let rest = text.trim_start_matches(self.mark);
        rest.is_empty() && text.len() >= self.length
    }

    /// A line of its content, without the indentation of the fence.
    fn content<'a>(&self, line: &'a str) -> &'a str {
        let blanks = line.bytes().take_while(|byte| *byte == b' ').count();
        line.get(blanks.min(self.indent)..).unwrap_or(line)
    }
}

#[cfg(test)]
mod tests;
