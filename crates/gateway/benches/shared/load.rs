//! Who asks: connections that ask again as soon as they are answered, and requests that come at a
//! fixed rate whatever becomes of them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::message::Inbox;

/// A refused or broken connection that is worth another try, at most so often.
const MAX_TRIES: u32 = 20;

/// What is asked, of whom, and how a right answer is known.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    address: SocketAddr,
    /// Sent in turn.
    requests: Arc<Vec<Vec<u8>>>,
    is_right: fn(&[u8]) -> bool,
}

impl Target {
    /// Sends this address each of these requests in turn. Every body that comes back with status
    /// 200 is judged.
    pub(crate) fn new(
        address: SocketAddr,
        requests: Vec<Vec<u8>>,
        is_right: fn(&[u8]) -> bool,
    ) -> Self {
        Self { address, requests: Arc::new(requests), is_right }
    }

    pub(crate) async fn connect(&self) -> Connection {
        let mut tries = 0;
        let stream = loop {
            match TcpStream::connect(self.address).await {
                Ok(stream) => break stream,
                Err(error) if tries == MAX_TRIES => panic!("{}: {error}", self.address),
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
            tries += 1;
        };
        stream.set_nodelay(true).expect("a connection");
        Connection { stream, inbox: Inbox::default() }
    }

    pub(crate) fn request(&self, number: usize) -> &[u8] {
        &self.requests[number % self.requests.len()]
    }
}

/// One connection of a client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    pub(crate) inbox: Inbox,
}

impl Connection {
    async fn ask(&mut self, target: &Target, number: usize) {
        if let Err((status, body)) = self.try_ask(target, number).await {
            panic!("another answer than was expected: {status} {body}");
        }
    }

    /// An answer that is not right is returned with its status.
    pub(crate) async fn try_ask(
        &mut self,
        target: &Target,
        number: usize,
    ) -> Result<(), (u16, String)> {
        self.stream.write_all(target.request(number)).await.expect("a request is taken");
        let answer = self.inbox.answer(&mut self.stream).await.expect("an answer comes");
        let body = self.inbox.answer_body(&answer);
        if answer.status != 200 || !(target.is_right)(body) {
            return Err((answer.status, String::from_utf8_lossy(body).into_owned()));
        }
        self.inbox.take_answer(&answer);
        Ok(())
    }
}

/// Asks again and again over so many connections; gives how many answers came in how long.
pub(crate) async fn closed_loop(
    target: &Target,
    connections: usize,
    length: Duration,
) -> (u32, Duration) {
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for at in 0..connections {
        let target = target.clone();
        tasks.spawn(async move {
            let mut connection = target.connect().await;
            let mut asked = 0;
            while begun.elapsed() < length {
                let number = at + connections * usize::try_from(asked).expect("a small number");
                connection.ask(&target, number).await;
                asked += 1;
            }
            asked
        });
    }
    let asked: Vec<u32> = tasks.join_all().await;
    (asked.iter().sum(), begun.elapsed())
}

/// Asks at a fixed rate, however long answers take. The latency of each is counted from when it
/// should have been sent, so that a stall is felt by all who would have come during it.
pub(crate) async fn open_loop(
    target: &Target,
    per_second: u32,
    length: Duration,
    connections: usize,
) -> Vec<Duration> {
    let next = Arc::new(AtomicU32::new(0));
    let interval = Duration::from_secs(1) / per_second;
    let total = u32::try_from(length.as_millis() / interval.as_millis().max(1)).expect("a number");
    let begun = Instant::now() + Duration::from_millis(200);
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let (target, next) = (target.clone(), next.clone());
        tasks.spawn(async move {
            let mut connection = target.connect().await;
            let mut times = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= total {
                    return times;
                }
                let intended = begun + interval * number;
                tokio::time::sleep_until(intended).await;
                connection.ask(&target, number as usize).await;
                times.push(intended.elapsed());
            }
        });
    }
    let mut times: Vec<Duration> = tasks.join_all().await.into_iter().flatten().collect();
    times.sort_unstable();
    times
}

/// In milliseconds, of times in order.
pub(crate) fn percentile(times: &[Duration], percent: usize) -> f64 {
    times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3
}
