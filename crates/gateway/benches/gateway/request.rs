//! Whole requests in, as the upstream reads them. Their bodies have a length.

use std::io;
use std::ops::Range;

use tokio::net::TcpStream;

use crate::message::{Inbox, head_end, length};

/// A whole request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) is_get: bool,
    body: Range<usize>,
}

impl Inbox {
    /// The next request; nothing at the end of the connection.
    pub(crate) async fn request(&mut self, stream: &mut TcpStream) -> io::Result<Option<Request>> {
        loop {
            if let Some(head) = head_end(&self.bytes) {
                let length = length(&self.bytes[..head]).unwrap_or(0);
                let body = head..head + length;
                if self.bytes.len() >= body.end {
                    return Ok(Some(Request { is_get: self.bytes.starts_with(b"GET "), body }));
                }
            }
            if self.read(stream).await? == 0 {
                return Ok(None);
            }
        }
    }

    pub(crate) fn body(&self, request: &Request) -> &[u8] {
        &self.bytes[request.body.clone()]
    }

    /// Forgets a request.
    pub(crate) fn take(&mut self, request: &Request) {
        self.bytes.drain(..request.body.end);
    }
}
