//! Streams that stay open, and their clients.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use memchr::memmem;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::load::{Connection, Target};
use crate::message::{Inbox, head_end};

/// How many streams are opened at the same time.
const OPENED_AT_ONCE: usize = 64;

/// Opens streams that stay open, a few at a time; each has begun when this returns.
pub(crate) async fn streams(target: &Target, count: usize) -> Vec<Connection> {
    let next = Arc::new(AtomicU32::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..OPENED_AT_ONCE {
        let (target, next) = (target.clone(), next.clone());
        tasks.spawn(async move {
            let mut opened = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed) as usize;
                if number >= count {
                    return opened;
                }
                let mut connection = target.connect().await;
                let request = target.request(number);
                connection.stream.write_all(request).await.expect("a request is taken");
                let Connection { stream, inbox } = &mut connection;
                inbox.beginning(stream, b"word0").await.expect("a stream begins");
                opened.push(connection);
            }
        });
    }
    tasks.join_all().await.into_iter().flatten().collect()
}

impl Inbox {
    /// The beginning of the next answer, until its body contains a text.
    async fn beginning(&mut self, stream: &mut TcpStream, text: &[u8]) -> io::Result<()> {
        loop {
            let body = head_end(&self.bytes).map_or(&[][..], |head| &self.bytes[head..]);
            if memmem::find(body, text).is_some() {
                self.bytes = Vec::new();
                return Ok(());
            }
            if self.read(stream).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}
