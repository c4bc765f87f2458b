//! Answer of a local model in the Chat Completions format, whole or as a stream.

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use local_model::{End, Generation, Piece, Problem};
use serde_json::{Value, json};
use wire::sse::write_data;

use crate::clock;
use crate::provider::{Failure, LocalAnswer};

pub(super) struct Form {
    pub(super) model: String,
    pub(super) is_streamed: bool,
    /// Whether a stream ends with usage figures.
    pub(super) tells_usage: bool,
}

struct Stream {
    generation: Generation,
    head: Head,
    tells_usage: bool,
    ready: BytesMut,
    is_over: bool,
}

/// The fields common to all parts of an answer.
struct Head {
    id: String,
    created: u64,
    model: String,
}

/// Waits for the first token of a stream, or for the end of a whole answer.
pub(super) async fn begin(generation: Generation, form: Form) -> Result<LocalAnswer, Failure> {
    let head = Head {
        id: format!("chatcmpl-{:032x}", fastrand::u128(..)),
        created: clock::unix_seconds(),
        model: form.model,
    };
    if !form.is_streamed {
        let body = complete(generation, &head).await?;
        let pieces = stream::once(async { Ok(body) }).boxed();
        return Ok(LocalAnswer { media_type: "application/json", pieces });
    }
    let mut answer = Stream {
        generation,
        head,
        tells_usage: form.tells_usage,
        ready: BytesMut::new(),
        is_over: false,
    };
    let first = next(&mut answer.generation).await?;
    answer.push_delta(&json!({"role": "assistant", "content": ""}), None);
    answer.take(first);
    let pieces = stream::unfold(answer, |mut answer| async {
        let piece = answer.piece().await.transpose()?;
        Some((piece, answer))
    });
    Ok(LocalAnswer { media_type: "text/event-stream", pieces: pieces.boxed() })
}

impl Stream {
    async fn piece(&mut self) -> Result<Option<Bytes>, Failure> {
        if self.ready.is_empty() && !self.is_over {
            let piece = next(&mut self.generation).await.inspect_err(|failure| {
                let (model, cause) = (&self.head.model, failure.cause());
                tracing::warn!(model, cause, "local response interrupted");
            })?;
            self.take(piece);
        }
        Ok((!self.ready.is_empty()).then(|| self.ready.split().freeze()))
    }

    fn take(&mut self, piece: Piece) {
        match piece {
            Piece::Text(text) => self.push_delta(&json!({"content": text}), None),
            Piece::End { reason, completion_tokens } => {
                self.push_delta(&json!({}), Some(finish_reason(reason)));
                if self.tells_usage {
                    let mut event = self.head.event("chat.completion.chunk", &json!([]));
                    event["usage"] = usage(&self.generation, completion_tokens);
                    write_data(&mut self.ready, event.to_string().as_bytes());
                }
                write_data(&mut self.ready, b"[DONE]");
                self.is_over = true;
            }
        }
    }

    fn push_delta(&mut self, delta: &Value, finish: Option<&str>) {
        let choice = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        let event = self.head.event("chat.completion.chunk", &choice);
        write_data(&mut self.ready, event.to_string().as_bytes());
    }
}

impl Head {
    fn event(&self, object: &str, choices: &Value) -> Value {
        json!({
            "id": self.id,
            "object": object,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }
}

async fn complete(mut generation: Generation, head: &Head) -> Result<Bytes, Failure> {
    let mut text = String::new();
    loop {
        match next(&mut generation).await? {
            Piece::Text(more) => text.push_str(&more),
            Piece::End { reason, completion_tokens } => {
                let message = json!({"role": "assistant", "content": text, "refusal": null});
                let choice = json!([
                    {"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(reason)}
                ]);
                let mut answer = head.event("chat.completion", &choice);
                answer["usage"] = usage(&generation, completion_tokens);
                return Ok(answer.to_string().into());
            }
        }
    }
}

/// The next piece of the generation, which always has an end.
async fn next(generation: &mut Generation) -> Result<Piece, Failure> {
    match generation.next().await {
        Some(Ok(piece)) => Ok(piece),
        Some(Err(problem)) => Err(broken(&problem)),
        None => Err(Failure::Gone("the response ended early")),
    }
}

fn broken(problem: &Problem) -> Failure {
    Failure::Unusable { cause: problem.to_string() }
}

fn finish_reason(end: End) -> &'static str {
    match end {
        End::Stop => "stop",
        End::Length => "length",
    }
}

fn usage(generation: &Generation, completion_tokens: u32) -> Value {
    let prompt_tokens = generation.prompt_tokens;
    json!({
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": u64::from(prompt_tokens) + u64::from(completion_tokens),
        "prompt_tokens_details": {"cached_tokens": generation.cached_tokens},
    })
}
