//! The profile's `.env`: names and values, one per line.
//!
//! `NAME=value`, with or without `export`. Single quotes keep everything as it is, double
//! quotes understand `\n`, `\r`, `\t`, `\"`, `\\` and `\$`, and both may go over several
//! lines. Without quotes a `#` after white space begins a comment. Values are not substituted.
//!
//! The crate `dotenvy` is not used: it substitutes `$NAME` in values, and stops at the first
//! bad line instead of skipping it with a warning.

use std::collections::BTreeMap;
use std::iter::Enumerate;

use crate::problem::{self, Position, Problem};

/// Maximum file size, in bytes.
pub const MAX_ENV_FILE_BYTES: usize = 1024 * 1024;
/// Maximum variables per file.
pub const MAX_VARIABLES: usize = 4096;

type Lines<'t> = Enumerate<std::str::Lines<'t>>;

/// Reads the text of a `.env` file. An invalid line is skipped with a warning that never shows
/// its content; the last value of a duplicate name wins.
pub fn parse(text: &str) -> (BTreeMap<String, String>, Vec<Problem>) {
    let (mut variables, mut problems) = (BTreeMap::new(), Vec::new());
    if text.len() > MAX_ENV_FILE_BYTES {
        let message = format!("the file is larger than {MAX_ENV_FILE_BYTES} bytes and is ignored");
        return (variables, vec![Problem::error(Position { line: 1, column: 1 }, message)]);
    }
    let mut lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let position = Position { line: index + 1, column: 1 };
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match variable(line, &mut lines) {
            Err(message) => problems.push(Problem::warning(position, message)),
            Ok((name, _)) if variables.len() == MAX_VARIABLES && !variables.contains_key(&name) => {
                let message = format!("more than {MAX_VARIABLES} variables");
                problems.push(Problem::warning(position, message));
                break;
            }
            Ok((name, value)) => {
                if let Some(_earlier) = variables.insert(name.clone(), value) {
                    let message = format!("`{name}` is set again; the last value is used");
                    problems.push(Problem::warning(position, message));
                }
            }
        }
    }
    (variables, problem::in_order(problems))
}

fn variable(line: &str, lines: &mut Lines<'_>) -> Result<(String, String), &'static str> {
    let line = match line.strip_prefix("export") {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim_start(),
        _ => line,
    };
    let (name, value) = line.split_once('=').ok_or("expected `NAME=value`; the line is ignored")?;
    let name = name.trim_end();
    if !is_name(name) {
        return Err(
            "a name must consist of letters, digits, underscores, dots and hyphens and must not \
             start with a digit; the line is ignored",
        );
    }
    let value = value.trim_start();
    let value = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted(&value[1..], quote, lines)?,
        _ => unquoted(value).to_owned(),
    };
    if value.contains('\0') {
        return Err("the value contains a NUL character; the line is ignored");
    }
    // The file reader replaces invalid text with this character.
    if value.contains(char::REPLACEMENT_CHARACTER) {
        return Err("the value is not UTF-8; the line is ignored");
    }
    Ok((name.to_owned(), value))
}

fn is_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// A value up to a comment, trimmed.
fn unquoted(value: &str) -> &str {
    if value.starts_with('#') {
        return "";
    }
    let comment = value
        .match_indices('#')
        .map(|(at, _)| at)
        .find(|&at| value[..at].ends_with(char::is_whitespace));
    value[..comment.unwrap_or(value.len())].trim_end()
}

/// A value up to its closing quote, perhaps on a later line. Without one, only the opening
/// line is lost.
fn quoted(first: &str, quote: char, lines: &mut Lines<'_>) -> Result<String, &'static str> {
    let (mut value, mut line, later) = (String::new(), first, lines.clone());
    loop {
        if let Some(after) = until_quote(line, quote, &mut value) {
            let after = after.trim();
            if after.is_empty() || after.starts_with('#') {
                return Ok(value);
            }
            *lines = later;
            return Err("unexpected text after the closing quote; the line is ignored");
        }
        let Some((_, next)) = lines.next() else {
            *lines = later;
            return Err("unclosed quote; the line is ignored");
        };
        value.push('\n');
        line = next;
    }
}

/// Appends a line up to the closing quote, and returns the rest; `None` without a quote.
fn until_quote<'t>(line: &'t str, quote: char, value: &mut String) -> Option<&'t str> {
    let mut chars = line.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Some(&line[at + 1..]);
        }
        if c != '\\' || quote == '\'' {
            value.push(c);
            continue;
        }
        match chars.next().map(|(_, escaped)| escaped) {
            Some('n') => value.push('\n'),
            Some('r') => value.push('\r'),
            Some('t') => value.push('\t'),
            Some(c @ ('"' | '\\' | '$' | '`')) => value.push(c),
            Some(other) => value.extend(['\\', other]),
            None => value.push('\\'),
        }
    }
    None
}

#[cfg(test)]
mod tests;
