//! Work that continues without its client, unless the client disconnects before the answer begins.

use tokio::task::JoinHandle;

use crate::billing::Progress;
use crate::failure::ApiError;

/// A task that is aborted on drop, unless the answer has begun.
pub(crate) struct AbortEarly<T> {
    handle: Option<JoinHandle<Result<T, ApiError>>>,
    progress: Progress,
}

impl<T> AbortEarly<T> {
    pub(crate) fn new(handle: JoinHandle<Result<T, ApiError>>, progress: Progress) -> Self {
        Self { handle: Some(handle), progress }
    }

    pub(crate) async fn wait(mut self) -> Result<T, ApiError> {
        let Some(handle) = &mut self.handle else { return Err(ApiError::internal()) };
        let result = handle.await;
        self.handle = None;
        result.unwrap_or_else(|_| Err(ApiError::internal()))
    }
}

impl<T> Drop for AbortEarly<T> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take()
            && !self.progress.has_begun()
        {
            handle.abort();
        }
    }
}
