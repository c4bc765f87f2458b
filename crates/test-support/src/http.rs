//! Requests and responses on bare sockets, for the servers of ours that misbehave.

mod reply;
mod request;

use std::io::Read;
use std::net::TcpStream;

pub(crate) use reply::Reply;
pub(crate) use request::Request;

/// Says nothing until the other side goes.
pub(crate) fn hold(stream: &mut TcpStream) {
    let mut scrap = [0; 1024];
    while matches!(stream.read(&mut scrap), Ok(1..)) {}
}
