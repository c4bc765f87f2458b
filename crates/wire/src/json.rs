//! Pretty-prints JSON with the original order and numbers, which a parsed value would lose.

/// Maximum depth that is indented: deeper levels would take quadratic space.
const MAX_INDENT: usize = 64;

/// Pretty-prints a text; fails if it is not JSON.
pub fn pretty(text: &str) -> Result<String, serde_json::Error> {
    serde_json::from_str::<serde::de::IgnoredAny>(text)?;
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    let mut letters = text.chars().peekable();
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
    Ok(out)
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth.min(MAX_INDENT)));
}

#[cfg(test)]
mod tests;
