//! Fetches an image, through the same guard as pages.

use tokio::time::timeout;

use super::{Image, Limits, Reader};
use crate::exchange::PageResponse;
use crate::fault::Fault;
use crate::target::Target;

/// The first bytes of image types.
const TYPES: &[(&str, &[u8])] =
    &[("image/png", b"\x89PNG\r\n\x1a\n"), ("image/jpeg", b"\xff\xd8\xff"), ("image/gif", b"GIF8")];

impl Reader {
    /// Fetches an image of at most this many bytes.
    pub async fn image(&self, target: Target, max_bytes: u64) -> Result<Image, Fault> {
        let _permit = self.concurrency.try_acquire()?;
        let limits = Limits { max_bytes, readable_only: false };
        let following = Box::pin(self.follow(target, self.robots_policy(), limits));
        let late = |_| Fault::Late("total time limit exceeded");
        let content = match timeout(self.options.timeout, following).await.map_err(late)?? {
            (_, PageResponse::Content(content)) => content,
            (_, PageResponse::Failed(status)) => return Err(Fault::Status(status)),
            (_, PageResponse::Elsewhere(_)) => {
                return Err(Fault::TooManyRedirects(self.options.max_redirects));
            }
        };
        let is_image = content.media.as_deref().is_none_or(|media| media.starts_with("image/"));
        let media_type = media_type(&content.bytes).filter(|_| is_image);
        let media_type = media_type.ok_or(Fault::Unreadable("is not an image"))?;
        Ok(Image { media_type, bytes: content.bytes })
    }
}

/// The type of an image by its first bytes; whether the rest can be decoded is not checked.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    let known = TYPES.iter().find(|(_, start)| bytes.starts_with(start)).map(|(media, _)| *media);
    known.or(is_webp.then_some("image/webp"))
}
