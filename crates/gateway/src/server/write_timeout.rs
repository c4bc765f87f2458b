//! A client connection with a write timeout.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::connection_phase::ConnectionPhase;
use super::sendfile::{FileTransfer, is_placeholder};

/// Fails if the client reads nothing of a response for the length of the timeout.
pub(super) struct WriteTimeoutStream {
    pub(super) stream: TcpStream,
    pub(super) timeout: Duration,
    /// Runs while a write is blocked.
    pub(super) timer: Option<Pin<Box<Sleep>>>,
    pub(super) phase: Arc<ConnectionPhase>,
    pub(super) transfer: Arc<FileTransfer>,
}

impl WriteTimeoutStream {
    /// Starts the timer when a write blocks, and stops it when a write succeeds.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.timer.take().is_some() {
                self.phase.write_resumed();
            }
            return written;
        }
        self.phase.write_blocked();
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.timeout)));
        match timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for WriteTimeoutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            self.phase.bytes_arrived();
        }
        read
    }
}

impl AsyncWrite for WriteTimeoutStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = if is_placeholder(bytes) {
            self.transfer.poll_send(&self.stream, context, bytes.len())
        } else {
            self.transfer.check()?;
            Pin::new(&mut self.stream).poll_write(context, bytes)
        };
        self.watch(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // Bytes before a file are sent first.
        let own = slices.iter().take_while(|slice| !is_placeholder(slice)).count();
        let written = match slices.first() {
            Some(file) if own == 0 => self.transfer.poll_send(&self.stream, context, file.len()),
            _ => {
                self.transfer.check()?;
                let own = slices.get(..own).unwrap_or_default();
                Pin::new(&mut self.stream).poll_write_vectored(context, own)
            }
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
