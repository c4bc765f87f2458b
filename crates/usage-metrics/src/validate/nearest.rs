//! The allowed value most like what was found.

use std::borrow::Cow;

use super::datetime::is_date_time;
use super::is_uuid;
use crate::catalogue::is_identifier;

/// Texts longer than this are like nothing in the catalogue.
const MAX_COMPARED_CHARS: usize = 64;

/// The listed text nearest to `found`, if one is near.
pub(super) fn listed(found: &str, texts: &[&'static str]) -> Option<Cow<'static, str>> {
    if found.chars().nth(MAX_COMPARED_CHARS).is_some() {
        return None;
    }
    let folded = fold(found);
    let (distance, best) = texts
        .iter()
        .map(|text| (strsim::damerau_levenshtein(&folded, &fold(text)), *text))
        .min_by_key(|(distance, _)| *distance)?;
    // A third of the letters may differ: beyond that a guess misleads.
    let tolerated = best.chars().count().max(folded.chars().count()) / 3;
    (distance <= tolerated).then_some(Cow::Borrowed(best))
}

/// Case, surrounding space and the usual word separators do not make a word another one.
fn fold(text: &str) -> String {
    text.trim()
        .chars()
        .map(|letter| if letter == '-' || letter == ' ' { '_' } else { letter })
        .flat_map(char::to_lowercase)
        .collect()
}

/// The same UUID in the form that is allowed.
pub(super) fn uuid(found: &str) -> Option<Cow<'static, str>> {
    let bare = found.trim().trim_start_matches("urn:uuid:").trim_matches(['{', '}']);
    owned_if(bare.to_ascii_lowercase(), is_uuid)
}

/// The same moment in the form that is allowed.
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

/// The same identifier in the form that is allowed.
pub(super) fn identifier(found: &str, max_chars: usize) -> Option<Cow<'static, str>> {
    let text = found.trim().to_lowercase().replace(' ', "-");
    owned_if(text, |text| is_identifier(text, max_chars))
}

fn owned_if(text: String, legal: impl Fn(&str) -> bool) -> Option<Cow<'static, str>> {
    legal(&text).then_some(Cow::Owned(text))
}
