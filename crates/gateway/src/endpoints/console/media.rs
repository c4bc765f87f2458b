//! Media that a member made.

use askama::Template;
use axum::extract::State;
use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderMap, HeaderValue, Method};
use ledger::Time;
use pages::{Frame, Html, credits};

use super::super::media;
use super::super::path::Id;
use super::context::MemberContext;
use super::page::{self, PageResult};
use crate::clock;
use crate::endpoints::state::Shared;
use crate::media::Media;

const PAGE: u32 = 24;

#[derive(Template)]
#[template(path = "console/media.html")]
struct MediaPage {
    frame: Frame,
    made: Vec<Made>,
    /// The cursor of the next page; 0 for none.
    next: i64,
    is_first: bool,
}

struct Made {
    artifact: String,
    request: String,
    /// `image`, `audio` or `text`.
    kind: String,
    model: String,
    size: String,
    media_type: String,
    charge: String,
    created: Html,
    expires: Html,
}

pub(super) async fn list(context: MemberContext) -> PageResult {
    let before = context.param("before").parse().ok().filter(|&before: &i64| before > 0);
    let end = Time::from_micros(before.unwrap_or(i64::MAX));
    let runs = context.store().media_runs(context.caller.key.member, end, PAGE).await?;
    let now = clock::now().micros();
    let is_full = runs.len() >= PAGE as usize;
    let next = runs.last().filter(|_| is_full).map_or(0, |run| run.created_at.micros());
    let made = runs.iter().flat_map(|run| {
        run.artifacts.iter().map(move |artifact| Made {
            artifact: artifact.id.clone(),
            request: run.hold.to_string(),
            kind: artifact.media_type.split('/').next().unwrap_or_default().to_owned(),
            model: run.model.clone(),
            size: pages::bytes(artifact.bytes),
            media_type: artifact.media_type.clone(),
            charge: credits(run.charge.get()),
            created: pages::moment(run.created_at.micros(), now),
            expires: pages::moment(run.expires_at.micros(), now),
        })
    });
    page::show(&MediaPage {
        frame: context.frame("Media", "/media"),
        made: made.collect(),
        next,
        is_first: before.is_none(),
    })
}

/// The bytes of a file. Models made it, so it may not run scripts here.
pub(super) async fn file(
    context: MemberContext,
    State(media): Shared<Media>,
    Id(id): Id,
    method: Method,
    headers: HeaderMap,
) -> PageResult {
    let mut response =
        media::file(&media, context.caller.key.member, &id, &method, &headers).await?;
    pages::secure(response.headers_mut());
    let policy = HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'");
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}
