//! A connection on which files can be sent, and whose client must take what is ready for it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::passage::{Passage, is_hole};

/// A connection whose client must take what is ready for it within a time.
pub(super) struct Watched {
    stream: TcpStream,
    limit: Duration,
    late: Option<Pin<Box<Sleep>>>,
    passage: Arc<Passage>,
}

impl Watched {
    pub(super) fn new(stream: TcpStream, limit: Duration, passage: Arc<Passage>) -> Self {
        Self { stream, limit, late: None, passage }
    }

    /// Counts the time in which nothing could be written.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.late.take().is_some() {
                self.passage.turn.goes_on();
            }
            return written;
        }
        self.passage.turn.is_stuck();
        let late = self.late.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.limit)));
        match late.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            self.passage.turn.comes();
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = if is_hole(bytes) {
            self.passage.poll_send(&self.stream, context, bytes.len())
        } else {
            self.passage.check()?;
            Pin::new(&mut self.stream).poll_write(context, bytes)
        };
        self.watch(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // What stands before a file is sent first.
        let before = pieces.iter().take_while(|piece| !is_hole(piece)).count();
        let hole = pieces.first().filter(|_| before == 0);
        let written = if let Some(hole) = hole {
            self.passage.poll_send(&self.stream, context, hole.len())
        } else {
            self.passage.check()?;
            Pin::new(&mut self.stream).poll_write_vectored(context, &pieces[..before])
        };
        self.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
