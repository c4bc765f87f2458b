//! One request to one upstream.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use ledger::MemberId;
use serde::Deserialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use tokio::time::timeout;

use super::links;
use super::local::{Answer, Local};
use super::{AskedBy, Provider, Slot};
use crate::failure::{ApiError, chain};
use crate::proxy::ask::CHAT_PATH;
use crate::trace::Place;
use crate::within::within;

/// The most of an error body that is read.
const MAX_ERROR_BYTES: usize = 64 * 1024;
const ERROR_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest wait that an upstream may ask for on a client's behalf.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(2);

/// The code by which an error says that a model is not there.
const NO_MODEL: &str = "model_not_found";

/// An upstream that has begun to answer with success.
pub(crate) struct Upstream {
    pub(crate) headers: HeaderMap,
    body: Body,
    idle: Duration,
    /// How the body ended, where that was found out too early.
    ended: Option<Result<Option<Bytes>, Failure>>,
    /// Freed when the answer is over.
    _slot: Slot,
}

/// Where an answer comes from.
enum Body {
    Connection(links::Answer),
    /// It is made in this process.
    Here(Answer),
}

/// Who sends a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sender {
    pub(crate) owner: Owner,
    /// Where the request stands in a trace.
    pub(crate) traced: Option<Place>,
}

/// Whose request it is: what was computed for one is never used for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Whoever pays for it.
    Member(MemberId),
    /// Nobody pays for it.
    Operator,
}

/// Why an upstream gave no answer.
#[derive(Debug, Clone)]
#[cfg_attr(
    not(feature = "local-model"),
    expect(dead_code, reason = "some are of models in this process alone")
)]
pub(crate) enum Failure {
    /// The request itself is wrong, says the upstream; another would say the same.
    Refused { message: Option<String> },
    /// It does not know the model, and says so.
    NoModel,
    /// It does not know the path, or does not say what it does not know.
    NotThere,
    /// It has too much to do.
    Busy { retry_after: Option<Duration> },
    /// No connection could be made. Why, is for operators alone.
    Unreachable { cause: String },
    /// It did not begin a stream in time.
    Late,
    /// It broke off, or took too long over an answer.
    Gone(&'static str),
    /// It failed, or refused our key.
    Broken { status: u16 },
    /// It answered what is not an answer.
    Malformed(&'static str),
    /// It cannot take this request, though another may; what the member is told if none can.
    Unfit(ApiError),
    /// As many requests as it may have are computed and wait in this process.
    Full,
    /// A file of this process cannot be used. Why, is for operators alone.
    Unusable { cause: String },
}

impl Failure {
    /// Whether this speaks against the upstream's health.
    ///
    /// Only what no member can bring about by what they ask does, or one member could take an
    /// upstream from all the others. So it is of no account how an answer goes on that has begun,
    /// nor whether it can be understood: what is asked decides how long an answer takes, how large
    /// it is and whether it is filtered in the middle. Each kind in turn:
    ///
    /// - it cannot be reached, be it for TCP, for TLS or for its name: counts;
    /// - no stream begins in time: counts, since it begins before the work is done, and whoever
    ///   cannot begin one has no room for the next member either. A whole answer begins when all
    ///   of it is there: how late that is, the member decided;
    /// - it breaks the connection: does not count, since a body that is too large for it ends so
    ///   too. If it died, it cannot be reached now, and that counts;
    /// - it fails with a status: see [`is_its_own`];
    /// - it is busy, refuses, or knows no such model or path: does not count;
    /// - it answers nonsense, too much, or with an error in its stream: does not count;
    /// - what this process computes itself: does not count, since one file of several may be bad.
    ///
    /// Whatever this overlooks, the probe finds: members have no part in it.
    pub(crate) fn is_its_fault(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Late => true,
            Self::Broken { status } => is_its_own(*status),
            Self::Refused { .. }
            | Self::NoModel
            | Self::NotThere
            | Self::Busy { .. }
            | Self::Gone(_)
            | Self::Malformed(_)
            | Self::Unfit(_)
            | Self::Full
            | Self::Unusable { .. } => false,
        }
    }

    /// The status it answered with, for logs.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Broken { status } => Some(*status),
            _ => None,
        }
    }

    /// What there is to say beside the word, for logs.
    pub(crate) fn cause(&self) -> Option<&str> {
        match self {
            Self::Unreachable { cause } | Self::Unusable { cause } => Some(cause),
            Self::Gone(what) | Self::Malformed(what) => Some(what),
            _ => None,
        }
    }

    /// In one word, for logs and figures.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "refused",
            Self::NoModel => "no_model",
            Self::NotThere => "not_there",
            Self::Busy { .. } => "busy",
            Self::Unreachable { .. } => "unreachable",
            Self::Late => "late",
            Self::Gone(_) => "gone",
            Self::Broken { .. } => "broken",
            Self::Malformed(_) => "malformed",
            Self::Unfit(_) => "unfit",
            Self::Full => "full",
            Self::Unusable { .. } => "unusable",
        }
    }
}

/// Whether a status tells of a fault that no request can bring about: our key or our account is
/// refused (401, 402, 407), we are sent elsewhere (3xx), or it failed and says that the fault is
/// its own (5xx). Of those, what was asked may be why it took too long (504, 524) or is not
/// implemented (501); a filter in front of it forbids by content (403), and 408 is again a matter
/// of time. A stream that begins with an error came with status 200.
fn is_its_own(status: u16) -> bool {
    match status {
        501 | 504 | 524 => false,
        300..=399 | 401 | 402 | 407 | 500..=599 => true,
        _ => false,
    }
}

impl Provider {
    /// Sends a request and waits until the upstream begins to answer with success.
    pub(crate) async fn send(
        &self,
        path: &str,
        body: Bytes,
        sender: Sender,
    ) -> Result<Upstream, Failure> {
        let slot = self.slot()?;
        if let Some(local) = &self.local {
            return self.answer_here(local, path, (body, sender.owner), slot).await;
        }
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self
            .address(path)
            .ok_or_else(|| Failure::Unreachable { cause: "its address is wrong".to_owned() })?;
        *request.headers_mut() = self.headers();
        if let Some(header) = sender.traced.and_then(Place::header) {
            request.headers_mut().insert("traceparent", header);
        }
        let answer = timeout(self.timeouts.first_byte, self.client.request(request))
            .await
            .map_err(|_| Failure::Late)?
            .map_err(|error| {
                if error.is_connect() {
                    Failure::Unreachable { cause: chain(&error) }
                } else {
                    Failure::Gone("it broke off before its answer")
                }
            })?;
        let (head, body) = answer.into_parts();
        let upstream = Upstream {
            headers: head.headers,
            body: Body::Connection(body),
            idle: self.timeouts.idle,
            ended: None,
            _slot: slot,
        };
        self.note_status(AskedBy::Request, head.status.as_u16());
        if head.status.is_success() {
            return Ok(upstream);
        }
        Err(self.failure(head.status, upstream).await)
    }

    /// Answers a request in this process.
    async fn answer_here(
        &self,
        local: &Local,
        path: &str,
        (body, owner): (Bytes, Owner),
        slot: Slot,
    ) -> Result<Upstream, Failure> {
        if path != CHAT_PATH {
            return Err(Failure::NotThere);
        }
        let answer = local.answer(&body, owner, self.timeouts).await;
        // A file that cannot be used is known by now, and one that can again as well.
        if matches!(answer, Err(Failure::Unusable { .. })) || self.trouble.load().is_some() {
            self.trouble.store(local.trouble().map(Arc::new));
        }
        let answer = answer?;
        let media_type = HeaderValue::from_static(answer.media_type());
        Ok(Upstream {
            headers: HeaderMap::from_iter([(CONTENT_TYPE, media_type)]),
            body: Body::Here(answer),
            idle: self.timeouts.idle,
            ended: None,
            _slot: slot,
        })
    }

    /// Gets a file of the upstream itself, with our key.
    pub(crate) async fn fetch(&self, uri: Uri, max_bytes: usize) -> Result<Bytes, Failure> {
        let slot = self.slot()?;
        let mut request = Request::new(Full::default());
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers();
        let answer = timeout(self.timeouts.first_byte, self.client.request(request))
            .await
            .map_err(|_| Failure::Gone("its file did not come in time"))?
            .map_err(|_| Failure::Gone("it broke off before its file"))?;
        let (head, body) = answer.into_parts();
        if head.status != StatusCode::OK {
            return Err(Failure::Gone("its file cannot be had"));
        }
        let mut file = Upstream {
            headers: head.headers,
            body: Body::Connection(body),
            idle: self.timeouts.idle,
            ended: None,
            _slot: slot,
        };
        file.read(max_bytes).await
    }

    async fn failure(&self, status: StatusCode, mut upstream: Upstream) -> Failure {
        let retry_after = retry_after(&upstream.headers);
        let body = timeout(ERROR_TIMEOUT, upstream.read(MAX_ERROR_BYTES)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        match status.as_u16() {
            // Overloaded, in the words of several; not for a member to blame it for.
            429 | 503 | 529 => Failure::Busy { retry_after },
            // Our key or our address is wrong, not what the member asked; a redirect likewise.
            401 | 402 | 403 | 407 | 408 => Failure::Broken { status: status.as_u16() },
            404 | 410 if is_of_model(&body) => Failure::NoModel,
            404 | 405 | 410 => Failure::NotThere,
            400..=499 => Failure::Refused { message: self.cleaner.message(&body) },
            status => Failure::Broken { status },
        }
    }
}

impl Upstream {
    /// How long it may be silent in the middle of its answer.
    pub(crate) fn idle(&self) -> Duration {
        self.idle
    }

    /// The next piece of the body, however long it takes; `None` at its end.
    pub(crate) async fn any_piece(&mut self) -> Result<Option<Bytes>, Failure> {
        if let Some(ended) = self.ended.take() {
            return ended;
        }
        match &mut self.body {
            Body::Connection(body) => next_data(body).await,
            Body::Here(answer) => answer.piece().await,
        }
    }

    /// The next piece of the body, if it is there.
    pub(crate) fn ready_piece(&mut self) -> Option<Bytes> {
        match self.any_piece().now_or_never()? {
            Ok(Some(piece)) => Some(piece),
            ended => {
                self.ended = Some(ended);
                None
            }
        }
    }

    /// The next piece of the body; `None` at its end.
    pub(crate) async fn piece(&mut self) -> Result<Option<Bytes>, Failure> {
        let late = Failure::Gone("it stopped in the middle of its answer");
        within(self.idle, self.any_piece()).await.map_err(|_| late)?
    }

    /// Reads what is left, if it comes at once: then the connection can be used again.
    pub(crate) async fn close(mut self) {
        const LAST_BYTES: Duration = Duration::from_millis(50);
        let _ = timeout(LAST_BYTES, self.any_piece()).await;
    }

    /// The whole body, up to a limit.
    pub(crate) async fn read(&mut self, limit: usize) -> Result<Bytes, Failure> {
        let Some(first) = self.piece().await? else { return Ok(Bytes::new()) };
        let Some(second) = self.piece().await? else {
            return if first.len() > limit { Err(too_long()) } else { Ok(first) };
        };
        let mut whole = BytesMut::from(first);
        let mut next = Some(second);
        while let Some(piece) = next {
            if whole.len() + piece.len() > limit {
                return Err(too_long());
            }
            whole.extend_from_slice(&piece);
            next = self.piece().await?;
        }
        Ok(whole.freeze())
    }
}

/// The next bytes of a connection's answer; `None` at its end.
async fn next_data(body: &mut links::Answer) -> Result<Option<Bytes>, Failure> {
    loop {
        let Some(frame) = body.frame().await else { return Ok(None) };
        let frame = frame.map_err(|_| Failure::Gone("it broke off"))?;
        if let Ok(data) = frame.into_data()
            && !data.is_empty()
        {
            return Ok(Some(data));
        }
    }
}

/// Whether an error says that it is the model that is not there.
fn is_of_model(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(borrow)]
        error: Named<'a>,
    }
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        code: Cow<'a, str>,
    }
    serde_json::from_slice::<Body<'_>>(body).is_ok_and(|body| body.error.code == NO_MODEL)
}

fn too_long() -> Failure {
    Failure::Malformed("its answer is longer than allowed")
}

/// How long it wants to be left alone: seconds, or until a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = if let Ok(seconds) = text.parse() {
        Duration::from_secs(seconds)
    } else {
        let date = OffsetDateTime::parse(text, &Rfc2822).ok()?;
        (date - OffsetDateTime::now_utc()).try_into().unwrap_or_default()
    };
    Some(wait.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_an_upstream_asks_for_is_understood_and_bounded() {
        let wait = |text: &str| {
            let value = http::HeaderValue::from_str(text).unwrap();
            retry_after(&HeaderMap::from_iter([(RETRY_AFTER, value)]))
        };
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("86400"), Some(MAX_RETRY_AFTER));
        assert_eq!(wait("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        assert_eq!(wait("Fri, 31 Dec 9999 23:59:59 GMT"), Some(MAX_RETRY_AFTER));
        let soon = OffsetDateTime::now_utc() + Duration::from_mins(1);
        let soon = wait(&soon.format(&Rfc2822).unwrap().replace("+0000", "GMT")).unwrap();
        assert!((50..=60).contains(&soon.as_secs()), "{soon:?}");
        for nonsense in ["", "-1", "soon", "1.5"] {
            assert_eq!(wait(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn an_unknown_model_is_told_from_an_unknown_path() {
        assert!(is_of_model(br#"{"error":{"message":"x","code":"model_not_found"}}"#));
        for other in [
            "",
            "<html>",
            "[]",
            r#"{"detail":"Not Found"}"#,
            r#"{"error":"model_not_found"}"#,
            r#"{"error":{"message":"Invalid URL","code":null}}"#,
            r#"{"error":{"message":"Invalid URL"}}"#,
            r#"{"error":{"message":"x","code":404}}"#,
        ] {
            assert!(!is_of_model(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn only_statuses_that_no_request_can_bring_about_speak_against_an_upstream() {
        for status in [301, 307, 401, 402, 407, 500, 502, 505, 520] {
            assert!(Failure::Broken { status }.is_its_fault(), "{status}");
        }
        for status in [200, 403, 408, 501, 504, 524] {
            assert!(!Failure::Broken { status }.is_its_fault(), "{status}");
        }
    }
}
