//! Media types, and how files of them end.

/// Types that media have, and the ending of their files.
const ENDINGS: &[(&str, &str)] = &[
    ("audio/aac", "aac"),
    ("audio/flac", "flac"),
    ("audio/mp4", "m4a"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/opus", "opus"),
    ("audio/pcm", "pcm"),
    ("audio/wav", "wav"),
    ("audio/webm", "weba"),
    ("audio/x-wav", "wav"),
    ("image/avif", "avif"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/svg+xml", "svg"),
    ("image/webp", "webp"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
];

/// How the name of a file of this type ends. What is not known is just bytes.
pub(super) fn extension(media_type: &str) -> &'static str {
    let kind = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let known = ENDINGS.iter().find(|(name, _)| *name == kind);
    known.map_or("bin", |(_, ending)| ending)
}

#[cfg(test)]
mod tests;
