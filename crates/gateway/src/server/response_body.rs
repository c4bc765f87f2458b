//! The body of a response: bytes or a file, tied to the phase of its connection and to its log line.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::BoxError;
use axum::body::Body;
use bytes::{Buf, Bytes};
use hyper::body::{Frame, SizeHint};

use super::connection_phase::ConnectionPhase;
use super::sendfile::{FileBody, Placeholder};
use crate::request_log::RequestLog;

/// A response body. When it is dropped, the connection is idle and the log line can be written.
pub(super) struct ResponseBody {
    pub(super) body: Body,
    /// The file to send instead of `body`.
    pub(super) file: Option<FileBody>,
    pub(super) phase: Arc<ConnectionPhase>,
    pub(super) _log: Arc<RequestLog>,
}

pub(super) enum Piece {
    Bytes(Bytes),
    File(Placeholder),
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.remaining(),
            Self::File(placeholder) => placeholder.remaining(),
        }
    }

    fn chunk(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes.chunk(),
            Self::File(placeholder) => placeholder.chunk(),
        }
    }

    fn advance(&mut self, count: usize) {
        match self {
            Self::Bytes(bytes) => bytes.advance(count),
            Self::File(placeholder) => placeholder.advance(count),
        }
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.phase.response_ended();
    }
}

impl hyper::body::Body for ResponseBody {
    type Data = Piece;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, BoxError>>> {
        if let Some(file) = &mut self.file {
            let piece = ready!(file.poll_piece(context));
            return Poll::Ready(piece.map(|piece| Ok(Frame::data(Piece::File(piece?)))));
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        Poll::Ready(frame.map(|frame| Ok(frame?.map_data(Piece::Bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.file {
            Some(file) => file.remaining() == 0,
            None => self.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.file {
            Some(file) => SizeHint::with_exact(file.remaining()),
            None => self.body.size_hint(),
        }
    }
}
