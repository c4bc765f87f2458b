//! Media types: what a page is, and the types of images and audio.

/// What kind of thing a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Html,
    /// Text that is read as it is.
    Text,
    /// Text that can be set out better.
    Json,
    Pdf,
}

/// The types of images and audio that are accepted.
const MEDIA: &[&str] = &[
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "audio/pcm",
    "audio/wav",
    "audio/ogg",
    "audio/flac",
    "audio/mpeg",
    "audio/aac",
];

/// The known type of an image or of audio.
pub(crate) fn of_media(name: &str) -> Option<&'static str> {
    MEDIA.iter().copied().find(|known| *known == name)
}

/// How many bytes tell what a thing is that does not say so.
const SNIFFED: usize = 1024;

/// The bare media type of a header.
pub fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// What a media type says.
enum Named {
    Kind(Kind),
    /// Something that cannot be read.
    Other,
    /// Nothing.
    Nothing,
}

fn named(essence: &str) -> Named {
    let kind = match essence {
        "" | "application/octet-stream" | "binary/octet-stream" | "unknown/unknown" => {
            return Named::Nothing;
        }
        "text/html" | "application/xhtml+xml" => Kind::Html,
        "application/pdf" | "application/x-pdf" => Kind::Pdf,
        "application/json" | "text/json" => Kind::Json,
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
        | "message/rfc822" => Kind::Text,
        other if other.ends_with("+json") => Kind::Json,
        // A drawing is XML, but nothing to read.
        "image/svg+xml" => return Named::Other,
        other if other.ends_with("+xml") || other.starts_with("text/") => Kind::Text,
        _ => return Named::Other,
    };
    Named::Kind(kind)
}

/// Whether something of this type can be read, as far as the type tells.
pub fn may_be_read(content_type: Option<&str>) -> bool {
    !matches!(named(&essence(content_type.unwrap_or_default())), Named::Other)
}

/// What a thing is: by its type, or by how it begins.
pub(crate) fn kind(content_type: Option<&str>, bytes: &[u8]) -> Option<Kind> {
    let named = named(&essence(content_type.unwrap_or_default()));
    // A PDF is known by its first bytes, whatever a server calls it.
    if bytes.starts_with(b"%PDF-") {
        return Some(Kind::Pdf);
    }
    match named {
        Named::Kind(kind) => Some(kind),
        Named::Other => None,
        Named::Nothing => sniff(bytes),
    }
}

fn sniff(bytes: &[u8]) -> Option<Kind> {
    let start = bytes.get(..SNIFFED).unwrap_or(bytes);
    let has_mark = [&b"\xef\xbb\xbf"[..], b"\xff\xfe", b"\xfe\xff"];
    if !has_mark.iter().any(|mark| start.starts_with(mark)) && start.contains(&0) {
        return None;
    }
    let is_binary = |byte: &u8| matches!(byte, 1..=8 | 14..=26 | 28..=31);
    if start.iter().any(is_binary) && !has_mark.iter().any(|mark| start.starts_with(mark)) {
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
        Kind::Html
    } else if is_json {
        Kind::Json
    } else {
        Kind::Text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_believed_and_everything_else_is_looked_at() {
        for (content_type, bytes, expected) in [
            (Some("text/html; charset=utf-8"), &b""[..], Some(Kind::Html)),
            (Some("APPLICATION/XHTML+XML"), b"", Some(Kind::Html)),
            (Some("application/ld+json"), b"{}", Some(Kind::Json)),
            (Some("application/rss+xml"), b"<rss>", Some(Kind::Text)),
            (Some("text/markdown"), b"# A", Some(Kind::Text)),
            (Some("image/png"), b"\x89PNG", None),
            (Some("image/svg+xml"), b"<svg>", None),
            (Some("video/mp4"), b"", None),
            (Some("application/zip"), b"PK", None),
            (Some("application/octet-stream"), b"%PDF-1.7", Some(Kind::Pdf)),
            (Some("text/plain"), b"%PDF-1.7", Some(Kind::Pdf)),
            (None, b"\n <!DOCTYPE html><p>", Some(Kind::Html)),
            (None, b"{\"a\": 1}", Some(Kind::Json)),
            (None, b"{ not json", Some(Kind::Text)),
            (None, b"plain words", Some(Kind::Text)),
            (None, b"\x7fELF\x02\x01\x01\x00", None),
            (Some("application/octet-stream"), b"MZ\x90\x00", None),
        ] {
            assert_eq!(kind(content_type, bytes), expected, "{content_type:?} {bytes:?}");
        }
    }
}
