//! Media types of pages, images and audio.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    Html,
    Text,
    Json,
    Pdf,
}

/// The accepted types of images and audio.
#[rustfmt::skip] // a table of words
const MEDIA: &[&str] = &[
    "image/png", "image/jpeg", "image/gif", "image/webp", "audio/pcm", "audio/wav", "audio/ogg",
    "audio/flac", "audio/mpeg", "audio/aac",
];

pub(crate) fn of_media(name: &str) -> Option<&'static str> {
    MEDIA.iter().copied().find(|known| *known == name)
}

/// Bytes that are used to detect an undeclared type.
const SNIFFED_BYTES: usize = 1024;

/// The media type of a `Content-Type` header without parameters.
pub fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

enum DeclaredKind {
    Kind(PageKind),
    /// A type without text.
    Unsupported,
    Unknown,
}

fn declared(essence: &str) -> DeclaredKind {
    let kind = match essence {
        "" | "application/octet-stream" | "binary/octet-stream" | "unknown/unknown" => {
            return DeclaredKind::Unknown;
        }
        "text/html" | "application/xhtml+xml" => PageKind::Html,
        "application/pdf" | "application/x-pdf" => PageKind::Pdf,
        "application/json" | "text/json" => PageKind::Json,
        "application/xml"
        | "application/javascript"
        | "application/ecmascript"
        | "application/x-javascript"
        | "application/yaml"
        | "application/x-yaml"
        | "application/toml"
        | "application/x-ndjson"
        | "application/jsonl"
        | "application/x-sh"
        | "application/sql"
        | "application/x-tex"
        | "application/rtf"
        | "application/graphql"
        | "application/x-httpd-php"
        | "message/rfc822" => PageKind::Text,
        other if other.ends_with("+json") => PageKind::Json,
        // SVG is XML without text.
        "image/svg+xml" => return DeclaredKind::Unsupported,
        other if other.ends_with("+xml") || other.starts_with("text/") => PageKind::Text,
        _ => return DeclaredKind::Unsupported,
    };
    DeclaredKind::Kind(kind)
}

pub fn may_have_text(content_type: Option<&str>) -> bool {
    !matches!(declared(&essence(content_type.unwrap_or_default())), DeclaredKind::Unsupported)
}

/// The kind of a page, by its declared type or its first bytes.
pub(crate) fn kind(content_type: Option<&str>, bytes: &[u8]) -> Option<PageKind> {
    let declared = declared(&essence(content_type.unwrap_or_default()));
    // PDF files are often declared with another type.
    if bytes.starts_with(b"%PDF-") {
        return Some(PageKind::Pdf);
    }
    match declared {
        DeclaredKind::Kind(kind) => Some(kind),
        DeclaredKind::Unsupported => None,
        DeclaredKind::Unknown => sniff(bytes),
    }
}

fn sniff(bytes: &[u8]) -> Option<PageKind> {
    let start = bytes.get(..SNIFFED_BYTES).unwrap_or(bytes);
    let marks = [&b"\xef\xbb\xbf"[..], b"\xff\xfe", b"\xfe\xff"];
    if !marks.iter().any(|mark| start.starts_with(mark)) && start.contains(&0) {
        return None;
    }
    let is_binary = |byte: &u8| matches!(byte, 1..=8 | 14..=26 | 28..=31);
    if start.iter().any(is_binary) && !marks.iter().any(|mark| start.starts_with(mark)) {
        return None;
    }
    let text = String::from_utf8_lossy(start).to_ascii_lowercase();
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let is_html =
        ["<!doctype html", "<html", "<head", "<body", "<!--", "<title", "<div", "<p>", "<h1"]
            .iter()
            .any(|tag| text.starts_with(tag));
    let is_json = text.starts_with(['{', '['])
        && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
    Some(if is_html {
        PageKind::Html
    } else if is_json {
        PageKind::Json
    } else {
        PageKind::Text
    })
}

#[cfg(test)]
mod tests;
