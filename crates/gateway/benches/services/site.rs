//! A web server with one page under any address, as little work as can be.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use crate::message::head_end;

/// What asks for rules gets none: everything may be read.
const NO_RULES: &[u8] = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Starts it; it ends with the process.
pub(crate) fn start(page: &str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{page}",
        page.len()
    );
    let answer: Arc<[u8]> = answer.into_bytes().into();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            thread::spawn(move || {
                // A reader that leaves is measured elsewhere.
                let _ = serve(stream, &answer);
            });
        }
    });
    address
}

fn serve(mut stream: TcpStream, answer: &[u8]) -> io::Result<()> {
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    while head_end(&head).is_none() {
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            count => head.extend_from_slice(&piece[..count]),
        }
    }
    stream.write_all(if head.starts_with(b"GET /robots.txt ") { NO_RULES } else { answer })
}
