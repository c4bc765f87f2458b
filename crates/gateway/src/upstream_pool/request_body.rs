//! Bodies of requests to upstreams.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use futures_util::Stream;
use hyper::body::{Body, Frame, SizeHint};

pub(crate) enum RequestBody {
    Whole(Bytes),
    Stream(StreamBody),
}

/// A body that is sent as it becomes available.
pub(crate) struct StreamBody {
    pub(crate) pieces: Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send + Sync>>,
    /// The size, if it is known.
    pub(crate) bytes: Option<u64>,
    /// Maximum time for sending it.
    pub(crate) max_time: Duration,
}

impl RequestBody {
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::Whole(_))
    }

    /// The time to allow for sending it, in addition to the time of the answer.
    pub(crate) fn max_time(&self) -> Duration {
        match self {
            Self::Whole(_) => Duration::ZERO,
            Self::Stream(stream) => stream.max_time,
        }
    }
}

impl<B: Into<Bytes>> From<B> for RequestBody {
    fn from(bytes: B) -> Self {
        Self::Whole(bytes.into())
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(stream) => {
                let piece = stream.pieces.as_mut().poll_next(context);
                piece.map(|piece| piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(stream) => {
                stream.bytes.map_or_else(SizeHint::default, SizeHint::with_exact)
            }
        }
    }
}
