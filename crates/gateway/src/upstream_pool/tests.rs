//! Connections that are reused, closed, broken and refused.

use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::yield_now;

use super::*;
use crate::worker_thread::Workers;

const WHOLE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
const PIECES: &str =
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
const UNFINISHED: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe";

/// An upstream that reports the number of the connection of each request, and `None` when a
/// connection ends.
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

fn pool() -> UpstreamPool {
    UpstreamPool::open(&[], Duration::from_secs(5)).unwrap()
}

fn request(peer: &Peer) -> Request<RequestBody> {
    Request::get(&peer.address).header("host", "peer").body(Bytes::new().into()).unwrap()
}

async fn body(pool: &UpstreamPool, peer: &Peer) -> Bytes {
    let answer = pool.request(request(peer)).await.unwrap();
    answer.into_body().collect().await.unwrap().to_bytes()
}

#[tokio::test]
async fn a_connection_is_reused_after_its_response_was_read() {
    for answer in [WHOLE, PIECES] {
        let (pool, mut peer) = (pool(), peer(answer, usize::MAX).await);
        for _ in 0..3 {
            assert_eq!(body(&pool, &peer).await, "hello");
            assert_eq!(peer.told.recv().await.unwrap(), Some(1));
        }
        // Two at the same time need two.
        let both = tokio::join!(body(&pool, &peer), body(&pool, &peer));
        assert_eq!(both, (Bytes::from("hello"), Bytes::from("hello")));
        let mut used = [peer.told.recv().await.unwrap(), peer.told.recv().await.unwrap()];
        used.sort_unstable();
        assert_eq!(used, [Some(1), Some(2)]);
    }
}

#[tokio::test]
async fn workers_borrow_connections_until_they_have_their_own() {
    let (pool, peer) = (Arc::new(pool()), peer(WHOLE, usize::MAX).await);
    let (address, mut told) = (peer.address, peer.told);
    let workers = Workers::start().unwrap();
    let (worker, _count) = workers.least_loaded().unwrap();
    let send = || {
        let (pool, address) = (pool.clone(), address.clone());
        async move {
            let request = Request::get(address).header("host", "peer").body(Bytes::new().into());
            pool.request(request.unwrap()).await.unwrap().into_body()
        }
    };
    let on_worker = || {
        worker.handle.spawn({
            let asking = send();
            async { asking.await.collect().await.unwrap() }
        })
    };
    // One after the other: one is enough.
    send().await.collect().await.unwrap();
    on_worker().await.unwrap();
    send().await.collect().await.unwrap();
    // That one is in use; from then on each worker has its own.
    let unread = send().await;
    on_worker().await.unwrap();
    unread.collect().await.unwrap();
    on_worker().await.unwrap();
    send().await.collect().await.unwrap();
    let mut used = Vec::new();
    for _ in 0..7 {
        used.push(told.recv().await.unwrap().unwrap());
    }
    assert_eq!(used, [1, 1, 1, 1, 2, 2, 1]);
    // Expired connections are closed, and the worker borrows again.
    pool.close_expired(Instant::now() + IDLE_TIMEOUT);
    assert_eq!((told.recv().await.unwrap(), told.recv().await.unwrap()), (None, None));
    send().await.collect().await.unwrap();
    on_worker().await.unwrap();
    assert_eq!((told.recv().await.unwrap(), told.recv().await.unwrap()), (Some(3), Some(3)));
}

#[tokio::test]
async fn a_connection_closed_by_its_peer_is_not_reused() {
    let (pool, mut peer) = (pool(), peer(WHOLE, 1).await);
    for number in 1..=3 {
        assert_eq!(body(&pool, &peer).await, "hello");
        assert_eq!(peer.told.recv().await.unwrap(), Some(number));
        assert_eq!(peer.told.recv().await.unwrap(), None);
        // It is still in the pool. The runtime has seen that it was closed, after so many yields.
        assert_eq!(pool.idle[0].lock().len(), 1);
        for _ in 0..1000 {
            yield_now().await;
        }
    }
}

#[tokio::test]
async fn an_unread_response_closes_its_connection() {
    let (pool, mut peer) = (pool(), peer(UNFINISHED, usize::MAX).await);
    let answer = pool.request(request(&peer)).await.unwrap();
    let mut body = answer.into_body();
    let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(piece, "he");
    drop(body);
    assert_eq!(peer.told.recv().await.unwrap(), Some(1));
    assert_eq!(peer.told.recv().await.unwrap(), None);
    assert!(pool.idle[0].lock().is_empty());
}

#[tokio::test]
async fn an_idle_connection_expires() {
    let (pool, mut peer) = (pool(), peer(WHOLE, usize::MAX).await);
    assert_eq!(body(&pool, &peer).await, "hello");
    assert_eq!(peer.told.recv().await.unwrap(), Some(1));
    pool.close_expired(Instant::now());
    assert_eq!(pool.idle[0].lock().len(), 1);
    pool.close_expired(Instant::now() + IDLE_TIMEOUT);
    assert_eq!(peer.told.recv().await.unwrap(), None);
}

#[tokio::test]
async fn a_refused_connection_differs_from_a_broken_one() {
    let (pool, listener) = (pool(), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let ask = || pool.request(Request::get(&address).body(Bytes::new().into()).unwrap());
    let (broken, accepted) = tokio::join!(ask(), async { drop(listener.accept().await.unwrap()) });
    let () = accepted;
    assert!(matches!(broken.err().unwrap(), RequestError::Broken(_)));
    drop(listener);
    let error = ask().await.err().unwrap();
    assert!(matches!(error, RequestError::Connect(_)));
    assert!(crate::failure::chain(&error).starts_with("client error (Connect): tcp connect error"));
}
