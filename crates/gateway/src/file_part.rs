//! A part of a file: its bytes piece by piece. What the kernel has at hand is taken at once; only for
//! the rest somebody waits, where it holds nobody up.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, Stream};
use tokio::task::spawn_blocking;

/// How much is read at once: little enough to be still at hand when it is sent.
const PIECE_BYTES: usize = 128 * 1024;

/// A part of a file.
#[derive(Debug, Clone)]
pub(crate) struct FilePart {
    pub(crate) file: Arc<File>,
    pub(crate) part: Range<u64>,
}

/// A part that is read.
struct Reading {
    left: FilePart,
    /// The piece before, whose memory is used again as soon as nobody else has it.
    before: Option<Bytes>,
}

impl FilePart {
    pub(crate) fn new(file: File, part: Range<u64>) -> Self {
        Self { file: Arc::new(file), part }
    }

    /// How many bytes it has.
    pub(crate) fn length(&self) -> u64 {
        self.part.end.saturating_sub(self.part.start)
    }

    /// All of its bytes.
    pub(crate) fn pieces(self) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
        let reading = Reading { left: self, before: None };
        stream::try_unfold(reading, |mut reading| async {
            let piece = reading.next().await?;
            Ok(piece.map(|piece| (piece, reading)))
        })
    }
}

impl Reading {
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let left = usize::try_from(self.left.length()).unwrap_or(usize::MAX);
        let FilePart { file, part } = &mut self.left;
        let start = part.start;
        if left == 0 {
            return Ok(None);
        }
        let mut memory = memory(self.before.take(), left.min(PIECE_BYTES));
        let mut count = at_hand(file, &mut memory, start);
        if count == 0 {
            let file = file.clone();
            let read = spawn_blocking(move || {
                let count = file.read_at(&mut memory, start)?;
                io::Result::Ok((memory, count))
            });
            (memory, count) = read.await.map_err(io::Error::other)??;
        }
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        part.start += count as u64;
        let whole = memory.freeze();
        let piece = whole.slice(..count);
        self.before = Some(whole);
        Ok(Some(piece))
    }
}

/// Memory of this length: that of the piece before, or new.
fn memory(before: Option<Bytes>, length: usize) -> BytesMut {
    let before = before.and_then(|before| before.try_into_mut().ok());
    let mut memory = before.unwrap_or_default();
    memory.resize(length, 0);
    memory
}

/// Reads what can be had without waiting; that may be nothing.
#[cfg(target_os = "linux")]
pub(crate) fn at_hand(file: &File, memory: &mut [u8], start: u64) -> usize {
    use rustix::io::{ReadWriteFlags, preadv2};
    let mut memory = [io::IoSliceMut::new(memory)];
    let read = preadv2(file, &mut memory, start, ReadWriteFlags::NOWAIT);
    // What fails may be what is not at hand, or a file system that cannot tell.
    read.unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn at_hand(_: &File, _: &mut [u8], _: u64) -> usize {
    0
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::pin::pin;

    use futures_util::TryStreamExt;

    use super::*;

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    async fn read(bytes: &[u8], part: Range<u64>) -> io::Result<Vec<u8>> {
        let pieces: Vec<Bytes> = FilePart::new(file(bytes), part).pieces().try_collect().await?;
        assert!(pieces.iter().all(|piece| (1..=PIECE_BYTES).contains(&piece.len())));
        Ok(pieces.concat())
    }

    #[tokio::test]
    async fn every_part_is_read_to_its_last_byte() {
        let bytes: Vec<u8> = (0..=250).cycle().take(3 * PIECE_BYTES + 7).collect();
        let all = bytes.len();
        for part in [0..all, 0..0, 5..6, 1..PIECE_BYTES, 3..PIECE_BYTES + 4, all - 1..all, all..all]
        {
            let wanted = part.start as u64..part.end as u64;
            assert_eq!(read(&bytes, wanted).await.unwrap(), bytes[part]);
        }
    }

    #[tokio::test]
    async fn pieces_that_are_kept_stay_as_they_are() {
        let bytes: Vec<u8> = (0..4).flat_map(|piece: u8| vec![piece; PIECE_BYTES]).collect();
        let part = FilePart::new(file(&bytes), 0..bytes.len() as u64);
        let mut pieces = pin!(part.pieces());
        let first = pieces.try_next().await.unwrap().unwrap();
        let rest: Vec<Bytes> = pieces.try_collect().await.unwrap();
        assert_eq!([vec![first], rest].concat().concat(), bytes);
    }

    #[tokio::test]
    async fn a_file_that_is_too_short_is_a_failure() {
        let error = read(b"abc", 0..4).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
