//! Fetches an image that a member named, through the same guard as pages.

use tokio::time::timeout;

use super::{Manners, Reader};
use crate::web::exchange::Answer;
use crate::web::fault::Fault;
use crate::web::target::Target;

/// How images of these types begin.
const TYPES: &[(&str, &[u8])] =
    &[("image/png", b"\x89PNG\r\n\x1a\n"), ("image/jpeg", b"\xff\xd8\xff"), ("image/gif", b"GIF8")];

impl Reader {
    /// Fetches an image of at most this many bytes; returns its media type and its bytes.
    pub(crate) async fn image(
        &self,
        target: Target,
        max_bytes: u64,
    ) -> Result<(&'static str, Vec<u8>), Fault> {
        let _place = self.places.enter()?;
        let manners = if self.config.robots { Manners::Asked } else { Manners::NotAsked };
        let following = Box::pin(self.follow(target, manners, (max_bytes, false)));
        let late = |_| Fault::Late("it took too long in all");
        let content = match timeout(self.config.timeout, following).await.map_err(late)?? {
            (_, Answer::Content(content)) => content,
            (_, Answer::Failed(status)) => return Err(Fault::Status(status)),
            (_, Answer::Elsewhere(_)) => {
                return Err(Fault::TooManyRedirects(self.config.max_redirects));
            }
        };
        let is_image = content.media.as_deref().is_none_or(|media| media.starts_with("image/"));
        let media = media_type(&content.bytes).filter(|_| is_image);
        media.map(|media| (media, content.bytes)).ok_or(Fault::Unreadable("it is not an image"))
    }
}

/// The type of an image by its first bytes; whether the rest can be decoded is not checked.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    let known = TYPES.iter().find(|(_, start)| bytes.starts_with(start)).map(|(media, _)| *media);
    known.or(is_webp.then_some("image/webp"))
}
