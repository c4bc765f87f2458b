//! Connections that are used again, closed, broken and refused.

use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::yield_now;

use super::*;
use crate::lane::Lanes;

const WHOLE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
const PIECES: &str =
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
const UNFINISHED: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe";

/// An upstream, and what it tells: the number of the connection on which a request came, and `None`
/// for a connection that ended.
struct Peer {
    address: String,
    told: mpsc::UnboundedReceiver<Option<usize>>,
}

/// Answers every request with these bytes, and closes a connection after so many.
async fn peer(answer: &'static str, answers: usize) -> Peer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/v1/x?y", listener.local_addr().unwrap());
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        for number in 1.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let tell = tell.clone();
            tokio::spawn(async move {
                let mut request = [0; 4096];
                for _ in 0..answers {
                    match stream.read(&mut request).await {
                        Ok(length @ 1..) => {
                            assert!(request[..length].starts_with(b"GET /v1/x?y HTTP/1.1\r\n"));
                        }
                        _ => break,
                    }
                    let _ = tell.send(Some(number));
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
                // Not before the answer was read.
                for _ in 0..1000 {
                    yield_now().await;
                }
                drop(stream);
                let _ = tell.send(None);
            });
        }
    });
    Peer { address, told }
}

fn links() -> Links {
    Links::open(&[], Duration::from_secs(5)).unwrap()
}

fn request(peer: &Peer) -> Request<Full<Bytes>> {
    Request::get(&peer.address).header("host", "peer").body(Full::default()).unwrap()
}

async fn body(links: &Links, peer: &Peer) -> Bytes {
    let answer = links.request(request(peer)).await.unwrap();
    answer.into_body().collect().await.unwrap().to_bytes()
}

#[tokio::test]
async fn a_connection_is_used_again_when_its_answer_was_read() {
    for answer in [WHOLE, PIECES] {
        let (links, mut peer) = (links(), peer(answer, usize::MAX).await);
        for _ in 0..3 {
            assert_eq!(body(&links, &peer).await, "hello");
            assert_eq!(peer.told.recv().await.unwrap(), Some(1));
        }
        // Two at the same time need two.
        let both = tokio::join!(body(&links, &peer), body(&links, &peer));
        assert_eq!(both, (Bytes::from("hello"), Bytes::from("hello")));
        let mut used = [peer.told.recv().await.unwrap(), peer.told.recv().await.unwrap()];
        used.sort_unstable();
        assert_eq!(used, [Some(1), Some(2)]);
    }
}

#[tokio::test]
async fn a_lane_borrows_until_it_has_a_connection_of_its_own() {
    let (links, peer) = (Arc::new(links()), peer(WHOLE, usize::MAX).await);
    let (address, mut told) = (peer.address, peer.told);
    let lanes = Lanes::start().unwrap();
    let (lane, _place) = lanes.take().unwrap();
    let send = || {
        let (links, address) = (links.clone(), address.clone());
        async move {
            let request = Request::get(address).header("host", "peer").body(Full::default());
            links.request(request.unwrap()).await.unwrap().into_body()
        }
    };
    let on_lane = || {
        lane.handle.spawn({
            let asking = send();
            async { asking.await.collect().await.unwrap() }
        })
    };
    // One after the other: one is enough.
    send().await.collect().await.unwrap();
    on_lane().await.unwrap();
    send().await.collect().await.unwrap();
    // The one is in use; from then on each has its own.
    let unread = send().await;
    on_lane().await.unwrap();
    unread.collect().await.unwrap();
    on_lane().await.unwrap();
    send().await.collect().await.unwrap();
    let mut used = Vec::new();
    for _ in 0..7 {
        used.push(told.recv().await.unwrap().unwrap());
    }
    assert_eq!(used, [1, 1, 1, 1, 2, 2, 1]);
    // Connections that waited for too long are closed, and it borrows again.
    links.tend(Instant::now() + IDLE_TIMEOUT);
    assert_eq!((told.recv().await.unwrap(), told.recv().await.unwrap()), (None, None));
    send().await.collect().await.unwrap();
    on_lane().await.unwrap();
    assert_eq!((told.recv().await.unwrap(), told.recv().await.unwrap()), (Some(3), Some(3)));
}

#[tokio::test]
async fn a_connection_that_its_peer_closed_is_left_alone() {
    let (links, mut peer) = (links(), peer(WHOLE, 1).await);
    for number in 1..=3 {
        assert_eq!(body(&links, &peer).await, "hello");
        assert_eq!(peer.told.recv().await.unwrap(), Some(number));
        assert_eq!(peer.told.recv().await.unwrap(), None);
        // It waits still: nobody has looked. The runtime has seen that it was closed, after so long.
        assert_eq!(links.waiting[0].all().len(), 1);
        for _ in 0..1000 {
            yield_now().await;
        }
    }
}

#[tokio::test]
async fn an_answer_that_nobody_reads_to_its_end_closes_its_connection() {
    let (links, mut peer) = (links(), peer(UNFINISHED, usize::MAX).await);
    let answer = links.request(request(&peer)).await.unwrap();
    let mut body = answer.into_body();
    let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(piece, "he");
    drop(body);
    assert_eq!(peer.told.recv().await.unwrap(), Some(1));
    assert_eq!(peer.told.recv().await.unwrap(), None);
    assert!(links.waiting[0].all().is_empty());
}

#[tokio::test]
async fn a_connection_waits_only_for_so_long() {
    let (links, mut peer) = (links(), peer(WHOLE, usize::MAX).await);
    assert_eq!(body(&links, &peer).await, "hello");
    assert_eq!(peer.told.recv().await.unwrap(), Some(1));
    links.tend(Instant::now());
    assert_eq!(links.waiting[0].all().len(), 1);
    links.tend(Instant::now() + IDLE_TIMEOUT);
    assert_eq!(peer.told.recv().await.unwrap(), None);
}

#[tokio::test]
async fn nobody_at_the_address_is_told_from_a_connection_that_broke() {
    let (links, listener) = (links(), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let ask = || links.request(Request::get(&address).body(Full::default()).unwrap());
    let (broken, accepted) = tokio::join!(ask(), async { drop(listener.accept().await.unwrap()) });
    let () = accepted;
    assert!(!broken.err().unwrap().is_connect());
    drop(listener);
    let error = ask().await.err().unwrap();
    assert!(error.is_connect());
    assert!(crate::failure::chain(&error).starts_with("client error (Connect): tcp connect error"));
}
