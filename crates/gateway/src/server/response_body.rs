//! The body of a response, tied to the phase of its connection and to its log line.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::connection_phase::ConnectionPhase;
use crate::request_log::RequestLog;

/// A response body. When it is dropped, the connection is idle and the log line can be written.
pub(super) struct ResponseBody {
    pub(super) body: Body,
    pub(super) phase: Arc<ConnectionPhase>,
    pub(super) _log: Arc<RequestLog>,
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.phase.response_ended();
    }
}

impl hyper::body::Body for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
