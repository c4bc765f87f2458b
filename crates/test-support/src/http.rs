//! Requests and responses on plain sockets, for the faulty servers.

mod reply;
mod request;

use std::io::{self, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

pub(crate) use reply::Reply;
pub use request::Request;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterReply {
    KeepOpen,
    Close,
}

/// Calls `respond` for each request, in one thread per connection, until the process ends.
pub(crate) fn serve(
    listener: TcpListener,
    respond: impl Fn(&Request, &mut TcpStream) -> io::Result<AfterReply> + Send + Sync + 'static,
) {
    let respond = Arc::new(respond);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let respond = Arc::clone(&respond);
            thread::spawn(move || {
                // The client may have disconnected.
                let _ = serve_connection(stream, &*respond);
            });
        }
    });
}

fn serve_connection(
    mut stream: TcpStream,
    respond: &impl Fn(&Request, &mut TcpStream) -> io::Result<AfterReply>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(request) = Request::read(&mut reader)? {
        if respond(&request, &mut stream)? == AfterReply::Close {
            break;
        }
    }
    Ok(())
}

/// Sends nothing until the client disconnects.
pub(crate) fn hold(stream: &mut TcpStream) {
    let mut scrap = [0; 1024];
    while matches!(stream.read(&mut scrap), Ok(1..)) {}
}
