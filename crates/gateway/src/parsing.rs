//! Bounds the bytes of bodies that are parsed at once by all requests.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wire::error::Code;

use crate::failure::{ApiError, ApiResult};

/// Bodies up to this size are not counted: they take little memory.
pub(crate) const SMALL_BYTES: usize = 64 * 1024;
const UNIT_BYTES: u64 = 1024;

#[derive(Debug)]
pub(crate) struct Parsing {
    room: Arc<Semaphore>,
    total: u32,
}

/// A body that holds its permits until its last clone is dropped.
struct Admitted {
    bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Admitted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Parsing {
    /// Permits for `parsing_bytes`, or at least for one of the largest bodies.
    pub(crate) fn new(parsing_bytes: u64, max_body_bytes: u64) -> Self {
        let units = parsing_bytes.max(max_body_bytes).div_ceil(UNIT_BYTES);
        let total = u32::try_from(units).unwrap_or(u32::MAX);
        let permits = usize::try_from(total).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self { room: Arc::new(Semaphore::new(permits)), total }
    }

    /// Waits for the permits of a body, in the order of arrival.
    pub(crate) async fn admit(&self, bytes: Bytes, max_wait: Duration) -> ApiResult<Bytes> {
        if bytes.len() <= SMALL_BYTES {
            return Ok(bytes);
        }
        let units = u64::try_from(bytes.len()).unwrap_or(u64::MAX).div_ceil(UNIT_BYTES);
        let units = u32::try_from(units).unwrap_or(u32::MAX).min(self.total);
        let room = timeout(max_wait, self.room.clone().acquire_many_owned(units)).await;
        let Ok(Ok(room)) = room else {
            let message = "too many large request bodies are being parsed; nothing was charged";
            return Err(ApiError::new(Code::Unavailable, message));
        };
        Ok(Bytes::from_owner(Admitted { bytes, _room: room }))
    }
}

#[cfg(test)]
mod tests;
