//! Files in answers: whole, one part of them, or not again. They are passed on piece by piece.

use std::ops::Range;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
    IF_RANGE, RANGE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use wire::error::Code;

use crate::failure::ApiError;
use crate::identity::hex;
use crate::media::Keep;

/// A file that is asked for.
pub(super) struct File<'a> {
    pub(super) keep: &'a Keep,
    /// The object that holds it.
    pub(super) object: &'a str,
    pub(super) bytes: u64,
    pub(super) sha256: [u8; 32],
    pub(super) media_type: &'a str,
    /// Who may keep it, and how long.
    pub(super) caching: &'static str,
}

/// What of a file is wanted.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Whole,
    Part(Range<u64>),
    /// The client has it already.
    Nothing,
    /// There is no such part.
    Beyond,
}

/// Answers with what is wanted of a file.
pub(super) async fn answer(
    file: &File<'_>,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let etag = format!("\"{}\"", hex(&file.sha256));
    let (status, range) = match wanted(headers, &etag, file.bytes) {
        Wanted::Whole => (StatusCode::OK, None),
        Wanted::Part(range) => (StatusCode::PARTIAL_CONTENT, Some(range)),
        Wanted::Nothing => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            write(response.headers_mut(), &[(ETAG, &etag), (CACHE_CONTROL, file.caching)]);
            return Ok(response);
        }
        Wanted::Beyond => return Ok(beyond(file.bytes)),
    };
    let length = range.as_ref().map_or(file.bytes, |range| range.end - range.start);
    let mut part = None;
    let body = if method == Method::HEAD {
        Body::empty()
    } else {
        match file.keep.read(file.object, range.clone()).await {
            Ok(Some(content)) => {
                part = content.file().cloned();
                if part.as_ref().is_some_and(|part| part.length() != length) {
                    tracing::error!(object = file.object, "a file is shorter than it was");
                    return Err(away());
                }
                Body::from_stream(content.into_pieces())
            }
            Ok(None) => {
                tracing::error!(object = file.object, "a file is missing");
                return Err(away());
            }
            Err(error) => {
                tracing::error!(%error, "a file cannot be read");
                return Err(away());
            }
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    // The edge may send the file instead of the body, which says the same.
    if let Some(part) = part {
        response.extensions_mut().insert(part);
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    write(headers, &[(ETAG, &etag), (CACHE_CONTROL, file.caching), (ACCEPT_RANGES, "bytes")]);
    write_content(headers, file.media_type, &file.sha256);
    if let Some(Range { start, end }) = range {
        let part = format!("bytes {start}-{}/{}", end - 1, file.bytes);
        write(headers, &[(CONTENT_RANGE, &part)]);
    }
    Ok(response)
}

/// What the content is, and the digest of all of it.
pub(super) fn write_content(headers: &mut HeaderMap, media_type: &str, sha256: &[u8; 32]) {
    let digest = STANDARD.encode(sha256);
    write(
        headers,
        &[
            (CONTENT_TYPE, media_type),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (HeaderName::from_static("digest"), &format!("sha-256={digest}")),
            (HeaderName::from_static("repr-digest"), &format!("sha-256=:{digest}:")),
        ],
    );
}

fn write(headers: &mut HeaderMap, pairs: &[(HeaderName, &str)]) {
    for (name, value) in pairs {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
}

fn beyond(bytes: u64) -> Response {
    let message = format!("the file has {bytes} bytes");
    let mut response = ApiError::new(Code::RangeNotSatisfiable, message).into_response();
    write(response.headers_mut(), &[(CONTENT_RANGE, &format!("bytes */{bytes}"))]);
    response
}

fn away() -> ApiError {
    ApiError::new(Code::Unavailable, "the file cannot be read at the moment")
}

/// What a request wants of a file with this tag and length.
fn wanted(headers: &HeaderMap, etag: &str, bytes: u64) -> Wanted {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if text(IF_NONE_MATCH).is_some_and(|tags| names(tags, etag)) {
        return Wanted::Nothing;
    }
    // A part of something else would be worth nothing; dates are not known here.
    let is_other = |tag: &HeaderValue| tag.as_bytes().trim_ascii() != etag.as_bytes();
    if headers.get(IF_RANGE).is_some_and(is_other) {
        return Wanted::Whole;
    }
    let Some(asked) = text(RANGE).and_then(|range| range.trim().strip_prefix("bytes=")) else {
        return Wanted::Whole;
    };
    part(asked.trim(), bytes)
}

/// Whether a list of tags has this one, or is for any.
fn names(tags: &str, etag: &str) -> bool {
    let is_it = |tag: &str| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag;
    tags.split(',').any(|tag| is_it(tag.trim()))
}

/// A single range. Several at once, and what is no range, are answered with the whole file.
fn part(asked: &str, bytes: u64) -> Wanted {
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // What is longer than any number is beyond any file.
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let Some((first, last)) = asked.split_once('-') else { return Wanted::Whole };
    match (number(first), number(last), first.is_empty(), last.is_empty()) {
        (None, Some(0), true, _) => Wanted::Beyond,
        (None, Some(_), true, _) if bytes == 0 => Wanted::Beyond,
        (None, Some(count), true, _) => Wanted::Part(bytes.saturating_sub(count)..bytes),
        (Some(first), None, _, true) if first < bytes => Wanted::Part(first..bytes),
        (Some(first), Some(last), ..) if last < first => Wanted::Whole,
        (Some(first), Some(last), ..) if first < bytes => {
            Wanted::Part(first..last.saturating_add(1).min(bytes))
        }
        (Some(_), None, _, true) | (Some(_), Some(_), ..) => Wanted::Beyond,
        _ => Wanted::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: &str = "\"abc\"";

    fn of(pairs: &[(HeaderName, &str)]) -> Wanted {
        let mut headers = HeaderMap::new();
        write(&mut headers, pairs);
        wanted(&headers, TAG, 10)
    }

    #[test]
    fn a_single_range_is_understood() {
        for (range, expected) in [
            ("bytes=0-0", Wanted::Part(0..1)),
            ("bytes=2-4", Wanted::Part(2..5)),
            ("bytes=2-", Wanted::Part(2..10)),
            ("bytes=9-99999999999999999999999", Wanted::Part(9..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-11", Wanted::Part(0..10)),
            ("bytes=10-", Wanted::Beyond),
            ("bytes=10-12", Wanted::Beyond),
            ("bytes=99999999999999999999999-", Wanted::Beyond),
            ("bytes=-0", Wanted::Beyond),
            ("bytes=4-2", Wanted::Whole),
            ("bytes=0-1,3-4", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("bytes=+1-2", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=", Wanted::Whole),
            ("lines=1-2", Wanted::Whole),
        ] {
            assert_eq!(of(&[(RANGE, range)]), expected, "{range}");
        }
        assert_eq!(part("-1", 0), Wanted::Beyond);
        assert_eq!(part("0-", 0), Wanted::Beyond);
    }

    #[test]
    fn a_part_is_given_only_of_the_same_file() {
        let of = |tag| of(&[(RANGE, "bytes=1-2"), (IF_RANGE, tag)]);
        assert_eq!(of(TAG), Wanted::Part(1..3));
        for other in ["\"other\"", "W/\"abc\"", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(of(other), Wanted::Whole, "{other}");
        }
        let mut headers = HeaderMap::new();
        write(&mut headers, &[(RANGE, "bytes=1-2")]);
        headers.insert(IF_RANGE, HeaderValue::from_bytes(b"\xc2\x84").unwrap());
        assert_eq!(wanted(&headers, TAG, 10), Wanted::Whole, "what is no text is no tag");
    }

    #[test]
    fn what_the_client_has_is_not_sent_again() {
        for tags in [TAG, "W/\"abc\"", "\"x\", \"abc\"", "*"] {
            assert_eq!(of(&[(IF_NONE_MATCH, tags), (RANGE, "bytes=0-1")]), Wanted::Nothing);
        }
        assert_eq!(of(&[(IF_NONE_MATCH, "\"x\"")]), Wanted::Whole);
    }
}
