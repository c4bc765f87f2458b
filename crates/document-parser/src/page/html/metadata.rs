//! Title, author, date and language of a page.

use dom_query::{Document as Dom, NodeRef};
use dom_smoothie::Readability;
use time::format_description::well_known::{Rfc2822, Rfc3339};
use time::{Date, OffsetDateTime};
use url::Url;

use super::is_one_of;
use crate::page::{Document, MAX_LINE, line};

/// Only those in the article or a header are used.
const TIMES: &str = "time[datetime]";
/// Maximum number of elements tried per selector.
const MAX_DATES: usize = 50;
/// Selectors and attributes of dates, the likeliest first. None of them matches ancestors, which is slow
/// in deeply nested pages.
const DATES: &[(&str, &str)] = &[
    ("meta[property='article:published_time']", "content"),
    ("meta[itemprop=datePublished]", "content"),
    ("meta[name=date], meta[name='dc.date'], meta[name='DC.date.issued']", "content"),
    (
        "meta[name=pubdate], meta[name='publish-date'], meta[name='citation_publication_date']",
        "content",
    ),
    ("[itemprop=datePublished]", "datetime"),
    (TIMES, "datetime"),
    ("time[pubdate]", "datetime"),
];

pub(super) fn read(dom: &Dom, base: &Url) -> Document {
    let metadata = Readability::with_document(dom.clone(), Some(base.as_str()), None)
        .ok()
        .map(|page| page.get_article_metadata(page.parse_json_ld()))
        .unwrap_or_default();
    let title = line(&metadata.title, MAX_LINE)
        .or_else(|| line(&dom.select_single("title").text(), MAX_LINE))
        .or_else(|| line(&dom.select_single("h1").text(), MAX_LINE));
    let byline = metadata.byline.as_deref().and_then(author);
    let published = metadata.published_time.as_deref().and_then(date);
    Document {
        title,
        byline,
        published_at: published.or_else(|| dated(dom)),
        language: language(dom).or_else(|| metadata.lang.as_deref().and_then(tag)),
        ..Document::default()
    }
}

/// The author without a leading "by".
fn author(text: &str) -> Option<String> {
    let text = line(text, MAX_LINE)?;
    let is_address = text.starts_with("http://") || text.starts_with("https://");
    let prefixes = ["By ", "by ", "BY ", "Von ", "Par ", "Por "];
    let text = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(&text);
    (!is_address && !text.is_empty()).then(|| text.to_owned())
}

fn dated(dom: &Dom) -> Option<String> {
    DATES.iter().find_map(|(selector, attribute)| {
        let found = dom.select(selector);
        let mut nodes = found.nodes().iter().take(MAX_DATES);
        nodes.find_map(|node| {
            let is_of_page = *selector != TIMES || is_in_head(node);
            date(&node.attr(attribute)?).filter(|_| is_of_page)
        })
    })
}

/// Whether an element is in the article or a header.
fn is_in_head(node: &NodeRef<'_>) -> bool {
    node.ancestors_it(None).any(|above| is_one_of(&above, &["article", "main", "header"]))
}

/// Normalizes a date to RFC 3339, or to a day.
fn date(text: &str) -> Option<String> {
    let text = text.trim();
    if let Ok(at) = OffsetDateTime::parse(text, &Rfc3339) {
        return at.format(&Rfc3339).ok();
    }
    if let Ok(at) = OffsetDateTime::parse(text, &Rfc2822) {
        return at.format(&Rfc3339).ok();
    }
    // Times without a standard zone become days.
    let mut numbers = text.get(..10)?.split(['-', '/', '.']);
    let mut next = || numbers.next()?.parse::<u16>().ok();
    let (year, month, day) = (next()?, next()?, next()?);
    let month = time::Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = Date::from_calendar_date(i32::from(year), month, u8::try_from(day).ok()?).ok()?;
    let is_likely = (1900..=2200).contains(&date.year());
    is_likely.then(|| format!("{:04}-{:02}-{:02}", date.year(), u8::from(date.month()), date.day()))
}

fn language(dom: &Dom) -> Option<String> {
    let root = dom.select_single("html");
    let written = root.attr("lang").or_else(|| root.attr("xml:lang"));
    let meta = || dom.select_single("meta[http-equiv=content-language i]").attr("content");
    tag(&written.or_else(meta)?)
}

/// A language tag, if the text looks like one.
fn tag(text: &str) -> Option<String> {
    let text = text.trim().replace('_', "-");
    let first = text.split('-').next().unwrap_or_default();
    let is_tag = (2..=3).contains(&first.len())
        && text.len() <= 35
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_tag.then_some(text)
}

#[cfg(test)]
mod tests;
