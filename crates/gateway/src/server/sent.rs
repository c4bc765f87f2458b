//! The body of an answer as it is sent: pieces of bytes, or a file that the kernel sends.

use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::BoxError;
use axum::body::Body;
use axum::response::Response;
use bytes::{Buf, Bytes};
use hyper::body::{Frame, SizeHint};
use tokio::task::{JoinHandle, spawn_blocking};

use super::passage::{HOLE_BYTES, Hole, Passage};
use crate::file_part::{self, FilePart};
use crate::request_log::RequestLog;

/// A file that is smaller is not worth the kernel's trouble.
const MIN_FILE_BYTES: u64 = 64 * 1024;

/// The body of an answer.
pub(super) struct Sent {
    content: Content,
    passage: Arc<Passage>,
    /// The line of the request is written when its answer has ended.
    _log: Arc<RequestLog>,
}

enum Content {
    Body(Body),
    File(FileBody),
}

/// A file that the kernel sends.
struct FileBody {
    left: FilePart,
    /// The next piece is brought from where it takes its time.
    bringing: Option<JoinHandle<io::Result<()>>>,
}

/// A piece of a body.
pub(super) enum Piece {
    Bytes(Bytes),
    Hole(Hole),
}

impl Sent {
    /// An answer as it is sent over this passage.
    pub(super) fn of(
        mut response: Response,
        passage: &Arc<Passage>,
        log: Arc<RequestLog>,
    ) -> http::Response<Self> {
        let part = response.extensions_mut().remove::<FilePart>();
        let is_large = |part: &FilePart| part.length() >= MIN_FILE_BYTES;
        let file = part.filter(is_large).filter(|_| cfg!(target_os = "linux"));
        response.map(|body| {
            let content = match file {
                None => Content::Body(body),
                Some(left) => {
                    passage.begin(left.file.clone(), left.part.start);
                    Content::File(FileBody { left, bringing: None })
                }
            };
            Self { content, passage: passage.clone(), _log: log }
        })
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.passage.turn.is_over();
    }
}

impl FileBody {
    fn length(&self) -> usize {
        usize::try_from(self.left.length()).unwrap_or(usize::MAX).min(HOLE_BYTES)
    }

    /// Whether the next piece can be sent without waiting for a disk, as far as its ends tell.
    fn is_at_hand(&self) -> bool {
        let (file, start) = (&self.left.file, self.left.part.start);
        let ends = [start, start + (self.length() as u64).saturating_sub(1)];
        ends.iter().all(|place| file_part::at_hand(file, &mut [0], *place) == 1)
    }

    /// How long the next piece is, once it can be sent.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<usize>>> {
        let length = self.length();
        if length == 0 {
            return Poll::Ready(None);
        }
        if self.bringing.is_none() && !self.is_at_hand() {
            let (file, start) = (self.left.file.clone(), self.left.part.start);
            let bring = move || file.read_exact_at(&mut vec![0; length], start);
            self.bringing = Some(spawn_blocking(bring));
        }
        if let Some(bringing) = &mut self.bringing {
            let brought = ready!(Pin::new(bringing).poll(context));
            self.bringing = None;
            if let Err(error) = brought.map_err(io::Error::other).flatten() {
                return Poll::Ready(Some(Err(error)));
            }
        }
        self.left.part.start += length as u64;
        Poll::Ready(Some(Ok(length)))
    }
}

impl hyper::body::Body for Sent {
    type Data = Piece;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, BoxError>>> {
        let Self { content, passage, .. } = self.get_mut();
        match content {
            Content::Body(body) => {
                let frame = ready!(Pin::new(body).poll_frame(context));
                let frame = frame.map(|frame| Ok(frame?.map_data(Piece::Bytes)));
                Poll::Ready(frame)
            }
            Content::File(file) => {
                let length = ready!(file.poll_piece(context));
                let hole = |length| Frame::data(Piece::Hole(passage.hole(length)));
                Poll::Ready(length.map(|length| Ok(hole(length?))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Body(body) => body.is_end_stream(),
            Content::File(file) => file.length() == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Body(body) => body.size_hint(),
            Content::File(file) => SizeHint::with_exact(file.left.length()),
        }
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.remaining(),
            Self::Hole(hole) => hole.remaining(),
        }
    }

    fn chunk(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes.chunk(),
            Self::Hole(hole) => hole.chunk(),
        }
    }

    fn advance(&mut self, count: usize) {
        match self {
            Self::Bytes(bytes) => bytes.advance(count),
            Self::Hole(hole) => hole.advance(count),
        }
    }
}
