//! One attempt: requests the rest of a file, and validates the response.

use std::time::{Duration, Instant};

use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_RANGE,
    RANGE,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use task_loop::member::{MemberError, MemberRequest};
use task_loop::untrusted::printable;

use super::part::Part;
use super::{DownloadRequest, Error, Limits, Progress};
use crate::member::Member;

/// Why an attempt did not complete. The next one may get further, after a pause if the service
/// requests one.
#[derive(Debug)]
pub(super) enum Failure {
    Again { reason: String, after: Option<Duration> },
    StartOver { reason: String },
    Final(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

/// The origin of the bytes of a part file.
#[derive(Debug, Default)]
pub(super) struct Origin {
    /// The service's `ETag` of that file.
    tag: Option<HeaderValue>,
    /// Whether all bytes are from one response. Otherwise they may be of several files.
    pub(super) is_one: bool,
}

pub(super) struct Transfer<'a> {
    pub(super) member: &'a Member,
    pub(super) wanted: &'a DownloadRequest,
    pub(super) limits: &'a Limits,
    pub(super) watch: &'a dyn Fn(Progress<'_>),
}

impl Transfer<'_> {
    /// Requests the missing bytes and appends them.
    pub(super) async fn run(&self, part: &mut Part, origin: &mut Origin) -> Result<(), Failure> {
        let offset = part.length();
        let mut ask =
            MemberRequest::get("").with(ACCEPT_ENCODING, "identity").within(self.limits.silence);
        if offset > 0 {
            ask = ask.with(RANGE, &format!("bytes={offset}-"));
            if let Some(tag) = origin.tag.as_ref().and_then(|tag| tag.to_str().ok()) {
                ask = ask.with(IF_RANGE, tag);
            }
        }
        let sent = self.member.client.send_to(&self.wanted.target, ask).await;
        let response = sent.map_err(|trouble| judged(trouble, offset))?;
        let stretch = self.stretch(&response, offset, origin.tag.as_ref())?;
        if stretch.start == 0 && offset > 0 {
            // The service does not resume, or has another file by now.
            part.clear()?;
        }
        *origin = Origin { tag: strong_tag(response.headers()), is_one: stretch.start == 0 };
        self.read(response.into_body(), part, stretch.end).await
    }

    /// The byte range of a response.
    fn stretch(
        &self,
        response: &Response<Incoming>,
        offset: u64,
        tag: Option<&HeaderValue>,
    ) -> Result<std::ops::Range<u64>, Failure> {
        let headers = response.headers();
        let expected = self.wanted.bytes;
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let kind = text(CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
        if kind.starts_with("text/html") || kind.starts_with("application/xhtml") {
            return Err(Error::Page.into());
        }
        if let Some(coding) = text(CONTENT_ENCODING).filter(|coding| *coding != "identity") {
            return Err(nonsense(format!("a file encoded as `{coding}`")));
        }
        let stretch = match response.status() {
            StatusCode::OK => 0..expected,
            StatusCode::PARTIAL_CONTENT if offset > 0 => {
                let range = text(CONTENT_RANGE).unwrap_or_default();
                let Some((stretch, total)) = content_range(range) else {
                    return Err(nonsense(format!("the unexpected range `{}`", printable(range))));
                };
                if let Some(stated) = total.filter(|total| *total != expected) {
                    return Err(Error::WrongSize { expected, stated }.into());
                }
                if stretch.start != offset || stretch.end > expected {
                    return Err(nonsense(format!("the unexpected range `{}`", printable(range))));
                }
                let now = strong_tag(headers);
                if tag.is_some() && now.is_some() && tag != now.as_ref() {
                    let reason = "the file changed during the download".to_owned();
                    return Err(Failure::StartOver { reason });
                }
                stretch
            }
            status => return Err(nonsense(format!("status {status} instead of a file"))),
        };
        let length = text(CONTENT_LENGTH).and_then(|length| length.trim().parse::<u64>().ok());
        match length {
            Some(stated) if stated != stretch.end - stretch.start => {
                // The stated total is the offset plus the length of the rest.
                let stated = stretch.start.saturating_add(stated);
                Err(Error::WrongSize { expected, stated }.into())
            }
            _ => Ok(stretch),
        }
    }

    /// Appends the body, up to the announced end.
    async fn read(&self, mut body: Incoming, part: &mut Part, end: u64) -> Result<(), Failure> {
        let mut since = (Instant::now(), part.length());
        loop {
            let frame = tokio::time::timeout(self.limits.silence, body.frame()).await;
            let Ok(frame) = frame else {
                let reason = format!("no data for {} s", self.limits.silence.as_secs_f32());
                return Err(again(reason));
            };
            let data = match frame {
                None if part.length() == end => return Ok(()),
                None => return Err(again("the file ended too early".to_owned())),
                Some(Err(error)) => return Err(again(format!("the connection failed: {error}"))),
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            };
            if data.len() as u64 > end - part.length() {
                return Err(Error::TooLong { expected: self.wanted.bytes }.into());
            }
            part.write(&data)?;
            (self.watch)(Progress::At(part.length()));
            if since.0.elapsed() >= self.limits.stretch {
                let came = part.length() - since.1;
                if came < self.limits.least_bytes && part.length() < end {
                    let seconds = since.0.elapsed().as_secs();
                    return Err(again(format!("only {came} bytes received in {seconds} s")));
                }
                since = (Instant::now(), part.length());
            }
        }
    }
}

fn again(reason: String) -> Failure {
    Failure::Again { reason, after: None }
}

fn nonsense(what: String) -> Failure {
    Error::Nonsense { what }.into()
}

/// Classifies a failed request for the next attempt.
fn judged(trouble: MemberError, offset: u64) -> Failure {
    let reason = trouble.line();
    match &trouble {
        MemberError::Refused { status, retry_after, .. } => match status.as_u16() {
            416 if offset > 0 => Failure::StartOver { reason },
            300..=399 => Error::Redirected { status: status.as_u16() }.into(),
            408 | 429 | 500.. => Failure::Again { reason, after: *retry_after },
            _ => Error::Refused { trouble }.into(),
        },
        MemberError::Nonsense { .. } => Error::Refused { trouble }.into(),
        MemberError::Unreachable { .. } | MemberError::Broken { .. } | MemberError::Late { .. } => {
            Failure::Again { reason, after: None }
        }
    }
}

/// The `ETag` of a file, if it is strong.
fn strong_tag(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(ETAG).filter(|tag| tag.as_bytes().starts_with(b"\"")).cloned()
}

/// `bytes 5-9/10`: the range, and the total if known.
fn content_range(text: &str) -> Option<(std::ops::Range<u64>, Option<u64>)> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.trim().split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let total = match total.trim() {
        "*" => None,
        total => Some(total.parse().ok()?),
    };
    (first <= last).then(|| (first..last.saturating_add(1), total))
}

#[cfg(test)]
mod tests;
