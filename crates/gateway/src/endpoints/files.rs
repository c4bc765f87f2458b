//! Files in responses: whole, in part, or not modified.

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

use crate::failure::{ApiError, ApiResult};
use crate::identity::hex;
use crate::media::ArtifactStore;

pub(super) struct File<'a> {
    pub(super) store: &'a ArtifactStore,
    pub(super) object: &'a str,
    pub(super) bytes: u64,
    pub(super) sha256: [u8; 32],
    pub(super) media_type: &'a str,
    pub(super) caching: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
enum Requested {
    Whole,
    Part(Range<u64>),
    NotModified,
    Unsatisfiable,
}

pub(super) async fn answer(file: &File<'_>, method: &Method, headers: &HeaderMap) -> ApiResult {
    let etag = format!("\"{}\"", hex(&file.sha256));
    let (status, range) = match requested(headers, &etag, file.bytes) {
        Requested::Whole => (StatusCode::OK, None),
        Requested::Part(range) => (StatusCode::PARTIAL_CONTENT, Some(range)),
        Requested::NotModified => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            write(response.headers_mut(), &[(ETAG, &etag), (CACHE_CONTROL, file.caching)]);
            return Ok(response);
        }
        Requested::Unsatisfiable => return Ok(unsatisfiable(file.bytes)),
    };
    let length = range.as_ref().map_or(file.bytes, |range| range.end - range.start);
    let mut sent_file = None;
    let body = if method == Method::HEAD {
        Body::empty()
    } else {
        match file.store.read(file.object, range.clone()).await {
            Ok(Some(content)) if content.length == length => {
                sent_file = content.file;
                Body::from_stream(content.chunks)
            }
            failed => {
                match failed {
                    Ok(Some(_)) => {
                        tracing::error!(object = file.object, "file is shorter than recorded");
                    }
                    Ok(None) => tracing::error!(object = file.object, "file is missing"),
                    Err(error) => tracing::error!(%error, "cannot read a file"),
                }
                let message = "the file is currently unavailable";
                return Err(ApiError::new(Code::Unavailable, message));
            }
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    if let Some(file) = sent_file {
        response.extensions_mut().insert(file);
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

fn unsatisfiable(bytes: u64) -> Response {
    let message = format!("the file has {bytes} bytes");
    let mut response = ApiError::new(Code::RangeNotSatisfiable, message).into_response();
    write(response.headers_mut(), &[(CONTENT_RANGE, &format!("bytes */{bytes}"))]);
    response
}

fn requested(headers: &HeaderMap, etag: &str, bytes: u64) -> Requested {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if text(IF_NONE_MATCH).is_some_and(|tags| names(tags, etag)) {
        return Requested::NotModified;
    }
    // A part of another version would be useless; dates are not supported.
    let is_other = |tag: &HeaderValue| tag.as_bytes().trim_ascii() != etag.as_bytes();
    if headers.get(IF_RANGE).is_some_and(is_other) {
        return Requested::Whole;
    }
    let Some(asked) = text(RANGE).and_then(|range| range.trim().strip_prefix("bytes=")) else {
        return Requested::Whole;
    };
    part(asked.trim(), bytes)
}

/// Whether a list of tags contains this one or `*`.
fn names(tags: &str, etag: &str) -> bool {
    let is_it = |tag: &str| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag;
    tags.split(',').any(|tag| is_it(tag.trim()))
}

/// A single range. Several ranges, or an invalid one, select the whole file.
fn part(asked: &str, bytes: u64) -> Requested {
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A number that overflows is beyond any file.
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let Some((first, last)) = asked.split_once('-') else { return Requested::Whole };
    match (number(first), number(last), first.is_empty(), last.is_empty()) {
        (None, Some(0), true, _) => Requested::Unsatisfiable,
        (None, Some(_), true, _) if bytes == 0 => Requested::Unsatisfiable,
        (None, Some(count), true, _) => Requested::Part(bytes.saturating_sub(count)..bytes),
        (Some(first), None, _, true) if first < bytes => Requested::Part(first..bytes),
        (Some(first), Some(last), ..) if last < first => Requested::Whole,
        (Some(first), Some(last), ..) if first < bytes => {
            Requested::Part(first..last.saturating_add(1).min(bytes))
        }
        (Some(_), None, _, true) | (Some(_), Some(_), ..) => Requested::Unsatisfiable,
        _ => Requested::Whole,
    }
}

#[cfg(test)]
mod tests;
