//! Pretty-prints JSON with the original order and numbers, which a parsed value would lose.

const MAX_INDENT: usize = 64;

/// Pretty-prints a text; `None` if it is not JSON.
pub(super) fn pretty(text: &str) -> Option<String> {
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    let mut letters = text.chars().filter(|letter| *letter != '\u{feff}').peekable();
    while let Some(letter) = letters.next() {
        if is_string {
            out.push(letter);
            is_string = is_escaped || letter != '"';
            is_escaped = letter == '\\' && !is_escaped;
            continue;
        }
        match letter {
            ' ' | '\t' | '\r' | '\n' => {}
            '{' | '[' => {
                out.push(letter);
                while letters.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(end) = letters.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                    continue;
                }
                depth += 1;
                new_line(&mut out, depth);
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(letter);
            }
            ',' => {
                out.push(letter);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => {
                is_string = letter == '"';
                out.push(letter);
            }
        }
    }
    Some(out)
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth.min(MAX_INDENT)));
}

#[cfg(test)]
mod tests;
