//! Media that a member made.

use askama::Template;
use gateway_store::MediaRun;
use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderMap, HeaderValue, Method};
use ledger::Time;
use pages::Frame;

use super::super::{Id, media};
use super::context::MemberContext;
use super::filters;
use super::page::{self, PageResult, Pager};

const PAGE: u32 = 24;

#[derive(Template)]
#[template(path = "console/media.html")]
struct MediaPage {
    frame: Frame,
    runs: Vec<MediaRun>,
    pager: Pager,
}

pub(super) async fn list(context: MemberContext) -> PageResult {
    let end = Time::from_micros(context.before().unwrap_or(i64::MAX));
    let mut runs = context.store().media_runs(context.who.caller.key.member, end, PAGE + 1).await?;
    let pager = context.pager(&mut runs, PAGE, |run| run.created_at.micros().to_string());
    page::show(&MediaPage { frame: context.frame("Media", "/media"), runs, pager })
}

/// The bytes of a file. It is model output, so scripts in it must not run.
pub(super) async fn file(
    context: MemberContext,
    Id(id): Id,
    method: Method,
    headers: HeaderMap,
) -> PageResult {
    let (media, member) = (&context.service.media, context.who.caller.key.member);
    let mut response = media::file(media, member, &id, &method, &headers).await?;
    pages::secure(response.headers_mut());
    let policy = HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'");
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}
