//! Files that the kernel sends by itself: their bytes never come into the program.
//!
//! In the body of an answer such a file is a row of [`Hole`]s, which have a length and no bytes. The
//! connection knows them by their place in memory, and has the kernel send as much of the file.
//!
//! **Invariant:** what is in a hole is never sent. Whatever of a hole is taken for written was sent
//! by the kernel before; otherwise nothing more is written to the connection.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Buf;
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::turn::Turn;

/// The longest hole: how much of a file is sent at once.
pub(super) const HOLE_BYTES: usize = 512 * 1024;
/// Never read and never written, so that the kernel puts no memory behind it.
static HOLE: LazyLock<Vec<u8>> = LazyLock::new(|| vec![0; HOLE_BYTES]);

/// What a connection and the answers on it know in common. Both are of one task.
#[derive(Debug, Default)]
pub(super) struct Passage {
    pub(super) turn: Turn,
    /// The file that is sent, and where the next of it begins.
    current: Mutex<Option<(Arc<File>, u64)>>,
    /// How much the kernel has sent that was not taken for written yet.
    sent: AtomicUsize,
    is_broken: AtomicBool,
}

/// Stands in an answer for a piece of a file.
#[derive(Debug)]
pub(super) struct Hole {
    passage: Arc<Passage>,
    left: usize,
}

impl Passage {
    /// From here on holes are for this file, from this byte on.
    pub(super) fn begin(&self, file: Arc<File>, start: u64) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some((file, start));
    }

    /// A hole of at most [`HOLE_BYTES`].
    pub(super) fn hole(self: &Arc<Self>, length: usize) -> Hole {
        Hole { passage: self.clone(), left: length.min(HOLE_BYTES) }
    }

    /// Fails after a hole was taken for written that was not sent.
    pub(super) fn check(&self) -> io::Result<()> {
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(io::Error::other("a file was not sent as it should have been"));
        }
        Ok(())
    }

    /// Has the kernel send some of the file.
    pub(super) fn poll_send(
        &self,
        stream: &TcpStream,
        context: &mut Context<'_>,
        length: usize,
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((file, start)) = current.as_mut() else {
            return Poll::Ready(Err(io::Error::other("there is no file to be sent")));
        };
        loop {
            ready!(stream.poll_write_ready(context))?;
            match stream.try_io(Interest::WRITABLE, || send(stream, file, start, length)) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => {
                    self.sent.fetch_add(count, Ordering::Relaxed);
                    return Poll::Ready(Ok(count));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Takes so much for written.
    fn written(&self, count: usize) {
        let sent = self.sent.load(Ordering::Relaxed);
        self.sent.store(sent.saturating_sub(count), Ordering::Relaxed);
        if sent < count {
            self.is_broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(target_os = "linux")]
fn send(stream: &TcpStream, file: &File, start: &mut u64, length: usize) -> io::Result<usize> {
    Ok(rustix::fs::sendfile(stream, file, Some(start), length)?)
}

#[cfg(not(target_os = "linux"))]
fn send(_: &TcpStream, _: &File, _: &mut u64, _: usize) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Whether these bytes are a hole.
pub(super) fn is_hole(bytes: &[u8]) -> bool {
    !bytes.is_empty() && HOLE.as_ptr_range().contains(&bytes.as_ptr())
}

impl Buf for Hole {
    fn remaining(&self) -> usize {
        self.left
    }

    fn chunk(&self) -> &[u8] {
        &HOLE[..self.left]
    }

    fn advance(&mut self, count: usize) {
        self.left = self.left.saturating_sub(count);
        self.passage.written(count);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::task::Waker;

    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (client, served) = tokio::join!(TcpStream::connect(address), listener.accept());
        (client.unwrap(), served.unwrap().0)
    }

    fn file(bytes: &[u8]) -> Arc<File> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Arc::new(file)
    }

    async fn send(passage: &Passage, stream: &TcpStream, length: usize) -> io::Result<usize> {
        std::future::poll_fn(|context| passage.poll_send(stream, context, length)).await
    }

    #[tokio::test]
    async fn what_the_kernel_sends_is_the_file_and_not_the_hole() {
        let (mut client, served) = pair().await;
        let passage = Arc::new(Passage::default());
        passage.begin(file(b"abcdefgh"), 2);
        let mut hole = passage.hole(5);
        assert!(is_hole(hole.chunk()) && !is_hole(b"abc") && !is_hole(b""));
        let count = send(&passage, &served, hole.remaining()).await.unwrap();
        hole.advance(count);
        assert_eq!((count, hole.remaining()), (5, 0));
        assert!(passage.check().is_ok());
        let mut got = [0; 5];
        client.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"cdefg");
    }

    #[tokio::test]
    async fn a_hole_that_was_not_sent_ends_the_connection() {
        let (_client, served) = pair().await;
        let passage = Arc::new(Passage::default());
        passage.begin(file(b"abc"), 0);
        passage.hole(3).advance(1);
        assert!(passage.check().is_err());
        assert!(send(&passage, &served, 3).await.is_err());
    }

    #[tokio::test]
    async fn a_file_that_is_too_short_or_not_there_is_a_failure() {
        let (_client, served) = pair().await;
        let passage = Passage::default();
        assert!(send(&passage, &served, 3).await.is_err());
        passage.begin(file(b"abc"), 3);
        let error = send(&passage, &served, 1).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_waited_for() {
        let (_client, served) = pair().await;
        let passage = Passage::default();
        passage.begin(file(&vec![7; 64 * 1024 * 1024]), 0);
        let mut context = Context::from_waker(Waker::noop());
        let stops = (0..1000)
            .any(|_| matches!(passage.poll_send(&served, &mut context, HOLE_BYTES), Poll::Pending));
        assert!(stops);
    }
}
