//! `POST /v1/web/fetch`: reads a page.

use std::time::Duration;

use gateway_store::Scope;
use web_reader::{Fault, FetchedPage, ReadRequest, Target};
use wire::web::{Page, PageFormat, PageRequest};
use wire::whole::Whole;

use super::admission::{MemberRequest, Received};
use super::json;
use super::{body, model_request};
use crate::clock;
use crate::config::Operation;
use crate::failure::{ApiError, ApiResult};
use crate::raw_object::RawObject;

const FIELDS: &[&str] = &["url", "format", "max_chars", "start_index", "max_age_s"];
const DEFAULT_CHARS: u32 = 50_000;
const MAX_CHARS: u32 = 1_000_000;
const MAX_NAME_CHARS: usize = 100;

pub(super) async fn fetch(request: MemberRequest) -> ApiResult {
    let received = request.receive(Scope::Fetch, "fetch").await?;
    let Received { service, info, caller, bytes, .. } = &received;
    let web = &service.web;
    let asked = read(bytes)?;
    // Before the hold: an invalid address is free.
    let target = Target::parse(&asked.url)?;
    let work = async {
        let wanted = ReadRequest {
            owner: web.page_owner(caller.key.member),
            target,
            format: asked.format.unwrap_or(PageFormat::Markdown),
            max_age: asked.max_age_s.map(|seconds| Duration::from_secs(seconds.into())),
            client: caller.key.member.0,
        };
        let attempt = web.timeouts.begin(caller.key.lineage)?;
        let found = attempt.end(web.page(&wanted).await)?;
        let id = format!("page_{}", info.id.digits());
        Ok(json(&shown(id, &asked, &found)?))
    };
    received.answer(Operation::Fetch, work).await
}

/// Parses a request; an unknown field is an error with a suggestion.
fn read(bytes: &[u8]) -> ApiResult<PageRequest> {
    let object = RawObject::parse(bytes)?;
    if let Some(unknown) = object.names().find(|name| !FIELDS.contains(name)) {
        let shown: String = unknown.chars().take(MAX_NAME_CHARS).collect();
        let hint = body::suggestion(&shown, FIELDS);
        let message = format!("unknown field `{shown}`; {hint}");
        return Err(ApiError::invalid(shown, message));
    }
    let number = |name: &'static str, wanted: &str| {
        let number: Option<Whole<u32>> = object.read(name, wanted)?;
        Ok::<_, ApiError>(number.map(|Whole(number)| number))
    };
    let asked = PageRequest {
        url: model_request::required(&object, "url")?,
        format: object.read("format", "`markdown`, `text` or `html`")?,
        max_chars: number("max_chars", &format!("a whole number from 1 to {MAX_CHARS}"))?,
        start_index: number("start_index", "a whole number, at least 0")?,
        max_age_s: number("max_age_s", "a whole number of seconds, at least 0")?,
    };
    if asked.max_chars.is_some_and(|chars| !(1..=MAX_CHARS).contains(&chars)) {
        let message = format!("`max_chars` must be a whole number from 1 to {MAX_CHARS}");
        return Err(ApiError::invalid("max_chars", message));
    }
    Ok(asked)
}

fn shown(id: String, asked: &PageRequest, found: &FetchedPage) -> Result<Page, Fault> {
    let (reading, document) = (&found.reading, &found.reading.document);
    let start = asked.start_index.unwrap_or(0);
    let (content, next_index) =
        part(&document.content, start, asked.max_chars.unwrap_or(DEFAULT_CHARS))?;
    Ok(Page {
        object: "web.page".to_owned(),
        id,
        url: asked.url.clone(),
        final_url: reading.final_url.clone(),
        status: reading.status,
        media_type: document.media_type.clone(),
        title: document.title.clone(),
        byline: document.byline.clone(),
        published_at: document.published_at.clone(),
        language: document.language.clone(),
        content: content.to_owned(),
        truncated: next_index.is_some(),
        next_index,
        links: document.links.clone(),
        fetched_at: clock::rfc3339(clock::at(reading.fetched_at)),
        from_cache: found.from_cache,
    })
}

/// At most `max_chars` characters from `start`, and the index of the next one.
fn part(content: &str, start: u32, max_chars: u32) -> Result<(&str, Option<u32>), Fault> {
    let at = |index: u32| {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        content.char_indices().nth(index).map(|(at, _)| at)
    };
    let Some(begin) = at(start) else {
        let length = u64::try_from(content.chars().count()).unwrap_or(u64::MAX);
        return Err(Fault::BehindEnd(length));
    };
    let next = start.saturating_add(max_chars);
    match at(next) {
        Some(end) => Ok((content.get(begin..end).unwrap_or_default(), Some(next))),
        None => Ok((content.get(begin..).unwrap_or_default(), None)),
    }
}

#[cfg(test)]
mod tests;
