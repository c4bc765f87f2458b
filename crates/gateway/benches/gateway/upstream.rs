//! The upstream of all measurements: it does as little work as possible.
//!
//! The model name selects its [`Behaviour`].

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::message::Inbox;

/// How many pieces a stream has, each written on its own.
pub(crate) const CHUNKS: usize = 64;
/// How many strings are embedded at once.
pub(crate) const EMBEDDED: usize = 100;
/// How long the paced model rests between two pieces.
const PACE: Duration = Duration::from_millis(1);
/// How long the slow model takes.
pub(crate) const DELAY: Duration = Duration::from_millis(50);

/// What a model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// About a kilobyte of JSON, at once.
    Small,
    /// A stream of [`CHUNKS`] pieces, as fast as they are read: a slow reader finds several at once.
    Stream,
    /// The same with a rest after each piece: everyone finds them one by one, as those of a model.
    Paced,
    /// As [`Self::Small`], after [`DELAY`].
    Slow,
    /// A stream of one piece that then stays open.
    Idle,
    /// As [`Self::Small`], in the shape of a message.
    Message,
    /// The embeddings of [`EMBEDDED`] strings.
    Embed,
}

impl Behaviour {
    pub(crate) const ALL: [Self; 7] = [
        Self::Small,
        Self::Stream,
        Self::Paced,
        Self::Slow,
        Self::Idle,
        Self::Message,
        Self::Embed,
    ];

    /// The name of its model.
    pub(crate) const fn model(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Stream => "stream",
            Self::Paced => "paced",
            Self::Slow => "slow",
            Self::Idle => "idle",
            Self::Message => "message",
            Self::Embed => "embed",
        }
    }

    pub(crate) const fn is_streamed(self) -> bool {
        matches!(self, Self::Stream | Self::Paced | Self::Idle)
    }

    /// By the end of the model's name in a request, with or without a provider before it.
    fn of(body: &[u8]) -> Option<Self> {
        let body = std::str::from_utf8(body).ok()?;
        let (_, rest) = body.split_once("\"model\":")?;
        let name = rest.trim_start().strip_prefix('"')?.split('"').next()?;
        Self::ALL.into_iter().find(|behaviour| name.ends_with(behaviour.model()))
    }
}

/// Starts it; it ends with the process.
pub(crate) async fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                // A peer that closes is how a connection ends here.
                let _ = serve(stream).await;
            });
        }
    });
    address
}

async fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (small, models) = (json(&small_answer()), json(&model_list()));
    let (message, embeddings) = (json(&message()), json(&embeddings()));
    let chunks = chunks();
    let mut inbox = Inbox::default();
    while let Some(request) = inbox.request(&mut stream).await? {
        if request.is_get {
            stream.write_all(&models).await?;
            inbox.take(&request);
            continue;
        }
        match Behaviour::of(inbox.body(&request)) {
            Some(Behaviour::Small) => stream.write_all(&small).await?,
            Some(Behaviour::Message) => stream.write_all(&message).await?,
            Some(Behaviour::Embed) => stream.write_all(&embeddings).await?,
            Some(Behaviour::Slow) => {
                tokio::time::sleep(DELAY).await;
                stream.write_all(&small).await?;
            }
            Some(behaviour @ (Behaviour::Stream | Behaviour::Paced)) => {
                stream.write_all(STREAM_HEAD).await?;
                for chunk in &chunks {
                    stream.write_all(chunk).await?;
                    if behaviour == Behaviour::Paced {
                        tokio::time::sleep(PACE).await;
                    } else {
                        tokio::task::yield_now().await;
                    }
                }
            }
            Some(Behaviour::Idle) => {
                stream.write_all(STREAM_HEAD).await?;
                stream.write_all(&chunks[0]).await?;
                // Until the peer leaves.
                stream.readable().await?;
            }
            None => {
                stream.write_all(REFUSAL).await?;
            }
        }
        inbox.take(&request);
    }
    Ok(())
}

const REFUSAL: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";

/// Its last field tells nginx to pass each piece on at once.
const STREAM_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
    transfer-encoding: chunked\r\nx-accel-buffering: no\r\n\r\n";

fn json(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn small_answer() -> String {
    let words = "The quick brown fox jumps over the lazy dog. ".repeat(14);
    format!(
        "{{\"id\":\"chatcmpl-0123456789\",\"object\":\"chat.completion\",\"created\":1700000000,\
         \"model\":\"small\",\"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\
         \"content\":\"{words}\",\"refusal\":null}},\"logprobs\":null,\"finish_reason\":\"stop\"}}],\
         \"usage\":{{\"prompt_tokens\":19,\"completion_tokens\":140,\"total_tokens\":159}},\
         \"system_fingerprint\":\"fp_0123456789\"}}"
    )
}

fn message() -> String {
    let words = "The quick brown fox jumps over the lazy dog. ".repeat(14);
    format!(
        "{{\"id\":\"msg_0123456789\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"message\",\
         \"content\":[{{\"type\":\"text\",\"text\":\"{words}\"}}],\"stop_reason\":\"end_turn\",\
         \"stop_sequence\":null,\"usage\":{{\"input_tokens\":19,\"output_tokens\":140}}}}"
    )
}

fn embeddings() -> String {
    let vector = vec!["-0.01234567"; 256].join(",");
    let entry =
        |at: usize| format!("{{\"object\":\"embedding\",\"index\":{at},\"embedding\":[{vector}]}}");
    let data: Vec<String> = (0..EMBEDDED).map(entry).collect();
    format!(
        "{{\"object\":\"list\",\"data\":[{}],\"model\":\"embed\",\"usage\":{{\"prompt_tokens\":1000,\
         \"total_tokens\":1000}}}}",
        data.join(",")
    )
}

fn model_list() -> String {
    let entries = Behaviour::ALL.map(|behaviour| {
        format!(
            "{{\"id\":\"{}\",\"object\":\"model\",\"created\":1,\"owned_by\":\"x\"}}",
            behaviour.model()
        )
    });
    format!("{{\"object\":\"list\",\"data\":[{}]}}", entries.join(","))
}

/// The pieces of a stream: words, the reason of the end, the usage, the end marker.
fn chunks() -> Vec<Vec<u8>> {
    let head = "\"id\":\"chatcmpl-0123456789\",\"object\":\"chat.completion.chunk\",\
                \"created\":1700000000,\"model\":\"stream\"";
    let word = |at: usize| {
        format!(
            "data: {{{head},\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" word{at}\"}},\
             \"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
        )
    };
    let mut events: Vec<String> = (0..CHUNKS - 3).map(word).collect();
    events.push(format!(
        "data: {{{head},\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\n"
    ));
    events.push(format!(
        "data: {{{head},\"choices\":[],\"usage\":{{\"prompt_tokens\":19,\"completion_tokens\":61,\
         \"total_tokens\":80}}}}\n\n"
    ));
    events.push("data: [DONE]\n\n".to_owned());
    let last = events.len() - 1;
    let framed = |(at, event): (usize, String)| {
        let end = if at == last { "0\r\n\r\n" } else { "" };
        format!("{:x}\r\n{event}\r\n{end}", event.len()).into_bytes()
    };
    events.into_iter().enumerate().map(framed).collect()
}
