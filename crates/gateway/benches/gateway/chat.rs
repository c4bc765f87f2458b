//! What is asked of the service and of nginx: a chat completion, a message or embeddings, by the
//! model's name.

use std::net::SocketAddr;

use memchr::memmem;

use crate::load::Target;
use crate::message::post;
use crate::upstream::{Behaviour, EMBEDDED};

/// Asks this address for a model by name, with each of these keys in turn.
pub(crate) fn target(
    address: SocketAddr,
    behaviour: Behaviour,
    prefix: &str,
    keys: &[String],
) -> Target {
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
    let requests = keys.iter().map(|key| post(address, "/v1/chat/completions", key, &body));
    let is_right = if behaviour.is_streamed() { is_whole_stream } else { is_answer };
    Target::new(address, requests.collect(), is_right)
}

/// Asks for a message.
pub(crate) fn message(
    address: SocketAddr,
    behaviour: Behaviour,
    prefix: &str,
    keys: &[String],
) -> Target {
    let (model, stream) = (behaviour.model(), behaviour.is_streamed());
    let body = format!(
        "{{\"model\":\"{prefix}{model}\",\"stream\":{stream},\"max_tokens\":1000,\"system\":\
         \"You are a helpful assistant.\",\"messages\":[{{\"role\":\"user\",\"content\":\"Tell me about \
         the quick brown fox, in a few words, and about the lazy dog.\"}}],\"temperature\":0.2}}"
    );
    let requests = keys.iter().map(|key| post(address, "/v1/messages", key, &body));
    let is_right = if stream { is_whole_message_stream } else { is_answer };
    Target::new(address, requests.collect(), is_right)
}

/// Asks for the embeddings of 100 strings.
pub(crate) fn embeddings(address: SocketAddr, prefix: &str, keys: &[String]) -> Target {
    let model = Behaviour::Embed.model();
    let inputs = vec!["\"The quick brown fox jumps over the lazy dog.\""; EMBEDDED].join(",");
    let body = format!("{{\"model\":\"{prefix}{model}\",\"input\":[{inputs}]}}");
    let requests = keys.iter().map(|key| post(address, "/v1/embeddings", key, &body));
    Target::new(address, requests.collect(), is_embedding)
}

fn is_embedding(body: &[u8]) -> bool {
    memmem::find(body, b"\"index\":99").is_some()
}

fn is_whole_message_stream(body: &[u8]) -> bool {
    memmem::find(body, b"message_stop").is_some()
}

fn is_answer(body: &[u8]) -> bool {
    memmem::find(body, b"lazy dog").is_some()
}

fn is_whole_stream(body: &[u8]) -> bool {
    memmem::find(body, b"data: [DONE]").is_some()
}
