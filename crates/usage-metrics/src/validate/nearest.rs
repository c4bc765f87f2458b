//! Suggests the nearest allowed value.

use std::borrow::Cow;

use super::datetime::is_date_time;
use super::is_uuid;
use crate::catalogue::is_identifier;

/// Longer texts are not compared.
const MAX_COMPARED_CHARS: usize = 64;

pub(super) fn listed(found: &str, texts: &[&'static str]) -> Option<Cow<'static, str>> {
    if found.chars().nth(MAX_COMPARED_CHARS).is_some() {
        return None;
    }
    let folded = fold(found);
    let (distance, best) = texts
        .iter()
        .map(|text| (strsim::damerau_levenshtein(&folded, &fold(text)), *text))
        .min_by_key(|(distance, _)| *distance)?;
    // At most a third of the letters may differ.
    let tolerated = best.chars().count().max(folded.chars().count()) / 3;
    (distance <= tolerated).then_some(Cow::Borrowed(best))
}

/// Ignores case, surrounding space and word separators.
fn fold(text: &str) -> String {
    text.trim()
        .chars()
        .map(|letter| if letter == '-' || letter == ' ' { '_' } else { letter })
        .flat_map(char::to_lowercase)
        .collect()
}

pub(super) fn uuid(found: &str) -> Option<Cow<'static, str>> {
    let bare = found.trim().trim_start_matches("urn:uuid:").trim_matches(['{', '}']);
    owned_if(bare.to_ascii_lowercase(), is_uuid)
}

pub(super) fn date_time(found: &str) -> Option<Cow<'static, str>> {
    let found = found.trim();
    if found.len() > MAX_COMPARED_CHARS {
        return None;
    }
    let joined = found.replacen(' ', "T", 1);
    let colon = joined.len().checked_sub(2).and_then(|at| {
        let (head, tail) = (joined.get(..at)?, joined.get(at..)?);
        Some(format!("{head}:{tail}"))
    });
    let zulu = format!("{joined}Z");
    let midnight = format!("{joined}T00:00:00Z");
    let seconds = joined.strip_suffix('Z').map(|head| format!("{head}:00Z"));
    [Some(joined), Some(zulu), Some(midnight), seconds, colon]
        .into_iter()
        .flatten()
        .find(|text| is_date_time(text))
        .map(Cow::Owned)
}

pub(super) fn identifier(found: &str, max_chars: usize) -> Option<Cow<'static, str>> {
    let text = found.trim().to_lowercase().replace(' ', "-");
    owned_if(text, |text| is_identifier(text, max_chars))
}

fn owned_if(text: String, legal: impl Fn(&str) -> bool) -> Option<Cow<'static, str>> {
    legal(&text).then_some(Cow::Owned(text))
}
