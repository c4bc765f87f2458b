//! Who asks: connections that ask again as soon as they are answered, requests that come at a fixed
//! rate whatever becomes of them, and streams that stay open.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use memchr::memmem;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::message::Inbox;
use crate::upstream::Behaviour;

/// How many streams are opened at the same time.
const OPENED_AT_ONCE: usize = 64;
/// A refused or broken connection that is worth another try, at most so often.
const MAX_TRIES: u32 = 20;

/// What is asked, of whom.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    behaviour: Behaviour,
    /// One request for each key.
    requests: Arc<Vec<Vec<u8>>>,
}

impl Target {
    /// Asks this address for a model by name, with each of these keys in turn.
    pub(crate) fn new(
        address: SocketAddr,
        behaviour: Behaviour,
        prefix: &str,
        keys: &[String],
    ) -> Self {
        let model = behaviour.model();
        let stream = if behaviour.is_streamed() {
            "\"stream\":true,\"stream_options\":{\"include_usage\":true},"
        } else {
            ""
        };
        let body = format!(
            "{{\"model\":\"{prefix}{model}\",{stream}\"messages\":[{{\"role\":\"system\",\"content\":\
             \"You are a helpful assistant.\"}},{{\"role\":\"user\",\"content\":\"Tell me about the \
             quick brown fox, in a few words, and about the lazy dog.\"}}],\"temperature\":0.2}}"
        );
        let request = |key: &String| {
            format!(
                "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\n\
                 authorization: Bearer {key}\r\ncontent-type: application/json\r\n\
                 accept: application/json\r\nuser-agent: bench\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            )
            .into_bytes()
        };
        Self { address, behaviour, requests: Arc::new(keys.iter().map(request).collect()) }
    }

    async fn connect(&self) -> Connection {
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

    fn request(&self, number: usize) -> &[u8] {
        &self.requests[number % self.requests.len()]
    }
}

/// One connection of a client.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    inbox: Inbox,
}

impl Connection {
    async fn ask(&mut self, target: &Target, number: usize) {
        self.stream.write_all(target.request(number)).await.expect("a request is taken");
        let answer = self.inbox.answer(&mut self.stream).await.expect("an answer comes");
        let body = self.inbox.answer_body(&answer);
        let expected: &[u8] =
            if target.behaviour.is_streamed() { b"data: [DONE]" } else { b"lazy dog" };
        assert!(
            answer.status == 200 && memmem::find(body, expected).is_some(),
            "another answer than was expected: {} {}",
            answer.status,
            String::from_utf8_lossy(body),
        );
        self.inbox.take_answer(&answer);
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

/// Opens streams that stay open, a few at a time; each has begun when this returns.
pub(crate) async fn idle_streams(target: &Target, count: usize) -> Vec<Connection> {
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
