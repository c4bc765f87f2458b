//! Citations and links in a draft.

/// Longest text between brackets, in bytes.
const MAX_INSIDE: usize = 400;
const MAX_PASSES: usize = 4;
const MAX_NUMBERS: usize = 20;

/// Words that may precede numbers.
const WORDS: &[&str] =
    &["and", "source", "sources", "ref", "refs", "reference", "references", "note", "notes"];

/// A draft with citations of the form `[n]` only, and links to sources only.
pub(super) fn repaired(draft: &str, urls: &[&str]) -> String {
    let mut text = draft.to_owned();
    for _ in 0..MAX_PASSES {
        let next = pass(&text, urls);
        if next == text {
            break;
        }
        text = next;
    }
    text
}

fn pass(text: &str, urls: &[&str]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['[', '【', '<']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some((kept, behind)) = autolink(from, urls) {
            out.push_str(&kept);
            rest = behind;
            continue;
        }
        let Some((inside, behind)) = bracketed(from) else {
            rest = push_one(&mut out, from);
            continue;
        };
        let (link, behind) = link(behind);
        match (numbers(inside, urls.len()), link) {
            (Some(numbers), _) => {
                if numbers.is_empty() && out.ends_with(' ') {
                    out.pop();
                }
                for number in numbers {
                    out.push_str(&format!("[{number}]"));
                }
                rest = behind;
            }
            // Images are dropped.
            (None, Some(_)) if out.ends_with('!') => {
                out.pop();
                rest = behind;
            }
            (None, Some(url)) => {
                if urls.contains(&url) {
                    out.push_str(&format!("[{inside}]({})", address(url)));
                } else {
                    out.push_str(inside);
                }
                rest = behind;
            }
            (None, None) => rest = push_one(&mut out, from),
        }
    }
    out + rest
}

fn push_one<'a>(out: &mut String, from: &'a str) -> &'a str {
    let mut letters = from.chars();
    out.extend(letters.next());
    letters.as_str()
}

/// The content of the leading brackets, and the rest.
fn bracketed(from: &str) -> Option<(&str, &str)> {
    let (inside, close) = match from.strip_prefix('[') {
        Some(inside) => (inside, ']'),
        None => (from.strip_prefix('【')?, '】'),
    };
    let (inside, behind) = inside.split_once(close)?;
    let is_short = inside.len() <= MAX_INSIDE && !inside.contains(['\n', '[']);
    is_short.then_some((inside, behind))
}

/// The address in the following parentheses, and the rest.
fn link(behind: &str) -> (Option<&str>, &str) {
    let Some(inside) = behind.strip_prefix('(') else { return (None, behind) };
    let Some((url, rest)) = inside.split_once(')') else { return (None, behind) };
    if url.contains('\n') {
        return (None, behind);
    }
    (url.split_whitespace().next().or(Some("")), rest)
}

/// `<https://…>`, kept if it is the URL of a source.
fn autolink<'a>(from: &'a str, urls: &[&str]) -> Option<(String, &'a str)> {
    let inside = from.strip_prefix('<')?;
    let (url, behind) = inside.split_once('>')?;
    let is_address = url.contains("://") && !url.contains(char::is_whitespace);
    is_address.then(|| {
        let kept = if urls.contains(&url) { format!("<{}>", address(url)) } else { String::new() };
        (kept, behind)
    })
}

/// The valid numbers of a citation; `None` if it is not one.
fn numbers(inside: &str, count: usize) -> Option<Vec<usize>> {
    let lower = inside.to_lowercase();
    // `3†source`, as some models write.
    let text = lower.split('†').next().unwrap_or_default().trim();
    let text = text.replace(['–', '—', '‑'], "-");
    let mut found = Vec::new();
    let mut has_number = false;
    for part in text.split([',', ';', '&', '/', ' ', ':']) {
        let part = part.trim_start_matches(['^', '#']);
        if part.is_empty() || WORDS.contains(&part) {
            continue;
        }
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (digits(from)?, digits(to)?);
        has_number = true;
        for number in from..=to.min(from.saturating_add(MAX_NUMBERS)) {
            let is_new = !found.contains(&number) && found.len() < MAX_NUMBERS;
            if (1..=count).contains(&number) && is_new {
                found.push(number);
            }
        }
    }
    has_number.then_some(found)
}

/// A number; zero, which no source has, if it is too long.
fn digits(text: &str) -> Option<usize> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(0))
}

/// Numbers in brackets: the positions of the brackets, and the number.
fn places(text: &str) -> Vec<(usize, usize, usize)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('[') {
        let inside = text.get(at + 1..).unwrap_or_default();
        let Some(length) = inside.find(']') else { continue };
        if let Some(number) = inside.get(..length).and_then(digits) {
            found.push((at, at + 1 + length, number));
        }
    }
    found
}

pub(super) fn has_any(text: &str) -> bool {
    !places(text).is_empty()
}

/// A draft in which bracketed numbers that name no source get parentheses.
pub(super) fn enforced(text: &str, count: usize) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for (open, close, number) in places(text) {
        if !(1..=count).contains(&number)
            && let (Some(b'['), Some(b']')) = (bytes.get(open), bytes.get(close))
        {
            bytes[open] = b'(';
            bytes[close] = b')';
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

pub(super) fn address(url: &str) -> String {
    let mut out = String::with_capacity(url.len());
    for letter in url.chars() {
        match letter {
            '[' | ']' | '(' | ')' | '<' | '>' | '"' | '`' | '\\' => {
                out.push_str(&format!("%{:02X}", u32::from(letter)));
            }
            letter if letter.is_whitespace() || letter.is_control() => {}
            letter => out.push(letter),
        }
    }
    out
}
