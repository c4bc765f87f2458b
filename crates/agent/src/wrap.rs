//! Wrapping of styled text for a terminal.

use anstyle::Style;
use unicode_width::UnicodeWidthChar;

/// A text in one style. A line end in it ends the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) style: Style,
    pub(crate) text: String,
}

impl Span {
    pub(crate) fn new(style: Style, text: impl Into<String>) -> Self {
        Self { style, text: text.into() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StyledLine {
    pub(crate) text: String,
    pub(crate) width: usize,
}

/// The width of a text in terminal columns.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(column).sum()
}

fn column(letter: char) -> usize {
    letter.width().unwrap_or(0)
}

pub(crate) fn plain(text: &str, width: usize) -> Vec<String> {
    let span = Span::new(Style::new(), text);
    lines(&[span], width).into_iter().map(|line| line.text).collect()
}

/// Between two columns.
pub(crate) const GAP: &str = "  ";
/// Minimum width of a continuation line.
pub(crate) const MIN_CONTINUATION: usize = 20;

/// Wraps each line between words. Continuation lines start below the last column of the line, or two
/// spaces further in than the line.
pub(crate) fn prose(text: &str, width: Option<usize>) -> String {
    let wrapped = text.split('\n').map(|line| {
        let plain = anstream::adapter::strip_str(line).to_string();
        let words = plain.trim();
        let begin = columns(&plain) - columns(plain.trim_start());
        let last = words.rfind(GAP).map(|at| columns(&words[..at + GAP.len()]));
        hanging(line, width, begin + last.unwrap_or(GAP.len()))
    });
    wrapped.collect::<Vec<_>>().join("\n")
}

/// Breaks a line that is wider than a terminal between words, keeping spaces and styles;
/// continuation lines are indented, unless that leaves too little room.
pub(crate) fn hanging(line: &str, width: Option<usize>, indent: usize) -> String {
    let shown = |text: &str| columns(&anstream::adapter::strip_str(text).to_string());
    let Some(width) = width.filter(|width| shown(line) > *width) else {
        return line.to_owned();
    };
    let indent = if indent + MIN_CONTINUATION > width { 2 } else { indent };
    let (mut text, mut used, mut has_word) = (String::new(), 0, false);
    for word in line.split_inclusive(' ') {
        let wide = shown(word.trim_end());
        if has_word && wide > 0 && used + wide > width {
            text.truncate(text.trim_end().len());
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            (used, has_word) = (indent, false);
        }
        has_word |= wide > 0;
        text.push_str(word);
        used += shown(word);
    }
    text.truncate(text.trim_end().len());
    text
}

/// Breaks between words; within a word only if it fits no line, and never within an address.
pub(crate) fn lines(spans: &[Span], width: usize) -> Vec<StyledLine> {
    let mut setter = LineWrapper::new(width);
    for span in spans {
        for letter in span.text.chars() {
            match letter {
                '\n' => {
                    setter.end_word();
                    setter.break_line();
                }
                ' ' | '\t' => setter.end_word(),
                letter => setter.word.push((span.style, letter)),
            }
        }
    }
    setter.finish()
}

struct LineWrapper {
    width: usize,
    word: Vec<(Style, char)>,
    line: Vec<(Style, char)>,
    line_width: usize,
    done: Vec<StyledLine>,
}

impl LineWrapper {
    fn new(width: usize) -> Self {
        let (word, line, done) = (Vec::new(), Vec::new(), Vec::new());
        Self { width: width.max(1), word, line, line_width: 0, done }
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let Some(&(style, _)) = word.first() else { return };
        let wide: usize = word.iter().map(|(_, letter)| column(*letter)).sum();
        if !self.line.is_empty() && self.line_width + 1 + wide > self.width {
            self.break_line();
        }
        if let Some((before, _)) = self.line.last() {
            // A gap within a style has that style; one between two styles has none.
            let style = if *before == style { style } else { Style::new() };
            self.put(style, ' ');
        }
        let may_break = wide > self.width && !is_address(&word);
        for (style, letter) in word {
            if may_break && self.line_width + column(letter) > self.width {
                self.break_line();
            }
            self.put(style, letter);
        }
    }

    fn put(&mut self, style: Style, letter: char) {
        self.line_width += column(letter);
        self.line.push((style, letter));
    }

    fn break_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let width = std::mem::take(&mut self.line_width);
        self.done.push(StyledLine { text: written(&line), width });
    }

    fn finish(mut self) -> Vec<StyledLine> {
        self.end_word();
        if !self.line.is_empty() {
            self.break_line();
        }
        self.done
    }
}

/// Whether a word contains an address: a broken one could not be opened.
fn is_address(word: &[(Style, char)]) -> bool {
    word.windows(3).any(|three| matches!(three, [(_, ':'), (_, '/'), (_, '/')]))
}

/// Characters with their styles, one escape per run.
fn written(letters: &[(Style, char)]) -> String {
    let mut text = String::new();
    for run in letters.chunk_by(|one, other| one.0 == other.0) {
        let style = run.first().map_or(Style::new(), |(style, _)| *style);
        text.push_str(&style.render().to_string());
        text.extend(run.iter().map(|(_, letter)| letter));
        text.push_str(&style.render_reset().to_string());
    }
    text
}

#[cfg(test)]
mod tests;
