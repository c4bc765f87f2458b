//! Text of servers, links and documents, made safe to show on a terminal.
//!
//! Such text must not control the terminal, hide or reorder characters, or push the content of
//! a decision off the screen.

use std::collections::VecDeque;

use unicode_properties::{GeneralCategory, UnicodeEmoji, UnicodeGeneralCategory};
use unicode_width::UnicodeWidthChar;

/// Maximum length of a run of blanks that is shown unchanged.
const MAX_BLANKS: usize = 32;
const MAX_EMPTY_LINES: usize = 2;
/// The columns of a narrow terminal, less the indentation of a dialog.
const ROW_COLUMNS: usize = 64;
/// Maximum rows per line of a text that must be cut.
const MAX_LINE_ROWS: usize = 4;
/// Invisible letters, despite their category.
const BLANK_LETTERS: [char; 5] = ['\u{115f}', '\u{1160}', '\u{2800}', '\u{3164}', '\u{ffa0}'];

/// Whether a character controls the terminal, or is invisible, or changes the order of others: the
/// categories Cc, Cf, Zl and Zp.
pub fn is_unsafe(letter: char) -> bool {
    // Most text is ASCII: skip the tables.
    if letter.is_ascii() {
        return letter.is_ascii_control();
    }
    matches!(
        letter.general_category(),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    )
}

pub fn escaped(text: &str) -> String {
    escaped_except(text, &[])
}

/// The text with its lines and tabs; every other unsafe character is escaped.
pub fn escaped_lines(text: &str) -> String {
    escaped_except(text, &['\n', '\t'])
}

/// Maximum length of a name or pointer that is shown, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// The beginning of an untrusted text on one line, with unsafe characters escaped.
pub fn printable(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => escaped(&text[..end]) + "…",
        None => escaped(text),
    }
}

fn escaped_except(text: &str, kept: &[char]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut before = None;
    while let Some(letter) = letters.next() {
        let is_kept = kept.contains(&letter) || joins_emoji(before, letter, letters.peek());
        if is_unsafe(letter) && !is_kept {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
        before = Some(letter);
    }
    shown
}

/// Whether a character joins two emoji into one, which hides nothing.
fn joins_emoji(before: Option<char>, letter: char, after: Option<&char>) -> bool {
    let is_picture = |letter: char| letter.is_emoji_char() && !letter.is_ascii();
    letter == '\u{200d}'
        && before.is_some_and(|letter| letter == '\u{fe0f}' || is_picture(letter))
        && after.is_some_and(|letter| is_picture(*letter))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    pub text: String,
    pub is_cut: bool,
}

/// The beginning and the end of a safe text, in at most this many rows of a terminal, with a
/// note of the length cut between them.
pub fn excerpt(text: &str, rows: usize) -> Excerpt {
    let text = without_blanks(text);
    let fits = |lines: &[String]| lines.iter().map(|line| rows_of(line)).sum::<usize>() <= rows;
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if fits(&lines) {
        return Excerpt { text: lines.join("\n"), is_cut: false };
    }
    let lines: Vec<String> = lines.into_iter().map(shortened).collect();
    if fits(&lines) {
        return Excerpt { text: lines.join("\n"), is_cut: true };
    }
    // One row has the number of missing lines.
    let room = rows.saturating_sub(1);
    let head = fitting(lines.iter(), room - room / 3);
    let tail = fitting(lines[head..].iter().rev(), room / 3);
    let end = lines.len() - tail;
    let mut shown = lines[..head].to_vec();
    shown.push(format!("…({} lines)…", end - head));
    shown.extend_from_slice(&lines[end..]);
    Excerpt { text: shown.join("\n"), is_cut: true }
}

fn fitting<'a>(lines: impl Iterator<Item = &'a String>, rows: usize) -> usize {
    let mut used = 0;
    lines
        .take_while(|line| {
            used += rows_of(line);
            used <= rows
        })
        .count()
}

/// The number of terminal rows of a line, with no character narrower than a column.
fn rows_of(line: &str) -> usize {
    line.chars().map(columns_of).sum::<usize>().div_ceil(ROW_COLUMNS).max(1)
}

fn columns_of(letter: char) -> usize {
    letter.width().unwrap_or(1).max(1)
}

fn shortened(line: String) -> String {
    if rows_of(&line) <= MAX_LINE_ROWS {
        return line;
    }
    let most = (MAX_LINE_ROWS - 1) * ROW_COLUMNS;
    let head = line.chars().scan(0, |used, letter| {
        *used += columns_of(letter);
        (*used <= most * 2 / 3).then_some(letter)
    });
    let head: String = head.collect();
    let mut tail = VecDeque::new();
    let mut used = 0;
    for letter in line[head.len()..].chars().rev() {
        used += columns_of(letter);
        if used > most / 3 {
            break;
        }
        tail.push_front(letter);
    }
    let tail: String = tail.into_iter().collect();
    let missing = line[head.len()..line.len() - tail.len()].chars().count();
    format!("{head}…({missing} characters)…{tail}")
}

/// The text with every long run of blanks or empty lines replaced by its length.
pub fn without_blanks(text: &str) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut empty = 0;
    for line in text.lines() {
        if line.chars().all(is_blank) {
            empty += 1;
            continue;
        }
        add_empty_lines(&mut shown, empty);
        empty = 0;
        shown.push(without_blanks_in(line));
    }
    add_empty_lines(&mut shown, empty);
    shown.join("\n")
}

fn add_empty_lines(shown: &mut Vec<String>, count: usize) {
    if count > MAX_EMPTY_LINES {
        shown.push(format!("…({count} empty lines)…"));
    } else {
        shown.extend(std::iter::repeat_n(String::new(), count));
    }
}

fn without_blanks_in(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(is_blank) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|letter| !is_blank(letter)).unwrap_or(from.len());
        let (blanks, after) = from.split_at(end);
        shown.push_str(before);
        match blanks.chars().count() {
            count if count > MAX_BLANKS => shown.push_str(&format!("…({count} spaces)…")),
            _ => shown.push_str(blanks),
        }
        rest = after;
    }
    shown.push_str(rest);
    shown
}

fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || BLANK_LETTERS.contains(&letter)
}

#[cfg(test)]
mod tests;
