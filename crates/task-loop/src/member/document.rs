//! A JSON document of the service, formatted with lines and indentation. Nothing else changes:
//! fields keep their order, and numbers are not parsed.

use serde::de::IgnoredAny;

const INDENT: &str = "  ";

pub(super) fn set(bytes: &[u8]) -> Result<String, serde_json::Error> {
    serde_json::from_slice::<IgnoredAny>(bytes)?;
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if is_text {
            out.push(letter);
            is_text = is_escaped || letter != '"';
            is_escaped = !is_escaped && letter == '\\';
            continue;
        }
        match letter {
            ' ' | '\t' | '\n' | '\r' => {}
            '{' | '[' => {
                out.push(letter);
                while letters.next_if(char::is_ascii_whitespace).is_some() {}
                if matches!(letters.peek(), Some('}' | ']')) {
                    out.extend(letters.next());
                } else {
                    depth += 1;
                    begin_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                begin_line(&mut out, depth);
                out.push(letter);
            }
            ',' => {
                out.push(letter);
                begin_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            letter => {
                is_text = letter == '"';
                out.push(letter);
            }
        }
    }
    out.push('\n');
    Ok(out)
}

fn begin_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(INDENT, depth));
}

#[cfg(test)]
mod tests;
