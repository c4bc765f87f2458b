//! The engine on real weights: SmolLM2-135M-Instruct, which `cargo xtask test` fetches.

mod answers;
mod files;
mod hosting;
mod recorded;

use std::path::PathBuf;

use crate::{Defaults, Generation, Message, Piece, Request, Sampling, Settings};

fn weights() -> PathBuf {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/peers/models/smollm2-135m.gguf");
    let path = PathBuf::from(path);
    assert!(path.exists(), "{} is missing; `cargo xtask test` fetches it", path.display());
    path
}

fn settings() -> Settings {
    let system = Some("You are a helpful assistant.".to_owned());
    Settings { defaults: Defaults { system, ..Defaults::default() }, ..Settings::new(weights()) }
}

fn asked(words: &str) -> Request {
    let message = Message { role: "user".to_owned(), content: words.to_owned() };
    Request { messages: vec![message], sampling: likeliest(24), owner: "ada".to_owned() }
}

fn likeliest(max_tokens: u32) -> Sampling {
    Sampling {
        temperature: Some(0.0),
        repeat_penalty: Some(1.0),
        max_tokens: Some(max_tokens),
        ..Sampling::default()
    }
}

/// The whole text of an answer, and how it ended.
async fn whole(mut answer: Generation) -> (String, Piece) {
    let mut text = String::new();
    while let Some(piece) = answer.next().await {
        match piece.unwrap() {
            Piece::Text(more) => text.push_str(&more),
            end @ Piece::End { .. } => return (text, end),
        }
    }
    panic!("the answer `{text}` has no end");
}
