//! The step that checks a draft: every number must name a source, every quotation must be in a source,
//! and only addresses of sources remain.

mod citation;

use super::quote::{Folded, plain};
use super::words::{head, without_thoughts};
use super::write::Source;

const MAX_REPORT: usize = 200 * 1024;
/// A shorter draft is not a report.
const MIN_REPORT_CHARS: usize = 80;
/// Shorter texts in quotation marks are names and terms.
const MIN_QUOTE_CHARS: usize = 25;
const LISTS: &[&str] = &[
    "sources", "references", "bibliography", "citations", "footnotes", "works cited",
    "sources cited", "source list", "list of sources",
];

/// The report of a draft, or one of the notes if the draft is useless.
pub(super) fn report(draft: &str, query: &str, sources: &[Source]) -> String {
    let texts: Vec<Folded> = sources.iter().map(|source| Folded::new(&source.text)).collect();
    let body = checked(draft, sources, &texts);
    let is_useful = body.chars().count() >= MIN_REPORT_CHARS && citation::has_any(&body);
    let body = if is_useful { body } else { checked(&assembled(query, sources), sources, &texts) };
    format!("{body}\n\n## Sources\n\n{}", listed(sources))
}

fn checked(draft: &str, sources: &[Source], texts: &[Folded]) -> String {
    let draft = without_thoughts(head(draft, MAX_REPORT));
    let draft = without_lists(unfenced(&draft));
    let urls: Vec<&str> = sources.iter().map(|source| source.url.as_str()).collect();
    let mut out = citation::repaired(&draft, &urls);
    out = out.lines().map(|line| quotations(line, texts)).collect::<Vec<_>>().join("\n");
    citation::enforced(out.trim(), sources.len())
}

fn unfenced(draft: &str) -> &str {
    let inside = draft.trim().strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let Some(inside) = inside.filter(|inside| !inside.contains("```")) else { return draft };
    inside.split_once('\n').map_or(inside, |(_, body)| body)
}

/// A draft without the source lists of the model: ours is added.
fn without_lists(draft: &str) -> String {
    let mut kept = Vec::new();
    let mut is_list = false;
    for line in draft.lines() {
        let bare = line.trim().trim_matches(['#', '*', ':', '_', ' ', '-']).to_lowercase();
        let is_heading = line.trim_start().starts_with('#');
        if LISTS.contains(&bare.as_str()) {
            is_list = true;
        } else if is_heading {
            is_list = false;
        }
        if !is_list && !is_definition(line) {
            kept.push(line);
        }
    }
    kept.join("\n")
}

/// Whether a line defines a number: `[1]: https://…`, `[1] Title, https://…`.
fn is_definition(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix('[') else { return false };
    let rest = rest.trim_start_matches('^');
    let Some((number, behind)) = rest.split_once(']') else { return false };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && (behind.starts_with(':') || behind.contains("://"))
}

/// A line in which quotations that are in no source lose their marks.
fn quotations(line: &str, texts: &[Folded]) -> String {
    let is_said = |text: &str| {
        let text = plain(text);
        text.chars().count() < MIN_QUOTE_CHARS || texts.iter().any(|folded| folded.contains(&text))
    };
    if let Some(inside) = line.trim_start().strip_prefix('>') {
        let bare = inside.trim().trim_matches(['"', '“', '”', '«', '»', ' ']);
        if !is_said(bare) {
            return quotations(inside.trim_start(), texts);
        }
    }
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['"', '“', '«']) {
        let (before, quoted) = rest.split_at(at);
        let Some(open) = quoted.chars().next() else { break };
        let close = match open {
            '“' => '”',
            '«' => '»',
            other => other,
        };
        out.push_str(before);
        let inside = quoted.get(open.len_utf8()..).unwrap_or_default();
        let Some((text, behind)) = inside.split_once(close) else {
            rest = quoted;
            break;
        };
        if is_said(text) {
            out.push(open);
            out.push_str(text);
            out.push(close);
        } else {
            out.push_str(text);
        }
        rest = behind;
    }
    out + rest
}

/// A report that consists of quotations.
fn assembled(query: &str, sources: &[Source]) -> String {
    let mut out = format!("# {}\n\nWhat the sources say:\n", plain(query));
    for (number, source) in (1..).zip(sources) {
        for note in &source.notes {
            out.push_str(&format!("\n- “{}” [{number}]", plain(&note.quote)));
        }
    }
    out
}

fn listed(sources: &[Source]) -> String {
    let line = |(number, source): (usize, &Source)| {
        let title = plain(&source.title).replace('[', "(").replace(']', ")");
        let title = if title.is_empty() { source.url.clone() } else { title };
        format!("{number}. [{}]({})", head(&title, 300), citation::address(&source.url))
    };
    (1..).zip(sources).map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
