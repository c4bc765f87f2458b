//! One file for many: who computes, who waits, who is turned away, and what happens when they go.

use std::time::Duration;

use super::{asked, likeliest, settings, whole};
use crate::{Host, Memory, Piece, Refusal, Request, Settings};

/// Waits until something is so.
async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await; // sleep: looks again
    }
    panic!("not {what} within 20 seconds");
}

fn long() -> Request {
    Request { sampling: likeliest(1500), ..asked("Count from one to a thousand.") }
}

#[tokio::test]
async fn requests_beyond_the_queue_are_rejected() {
    let host = Host::new(Settings { at_once: 1, waiting: 1, ..settings() });
    let first = host.generate(long()).await.unwrap();
    let (second, third) = tokio::join!(host.generate(asked("Hello")), async {
        let third = host.generate(asked("Hello")).await;
        drop(first);
        third
    });
    assert!(matches!(third.unwrap_err(), Refusal::Busy));
    let (text, _) = whole(second.unwrap()).await;
    assert!(!text.is_empty());
}

#[tokio::test]
async fn a_dropped_request_frees_its_slot_within_a_token() {
    let host = Host::new(Settings { at_once: 1, waiting: 4, ..settings() });
    let mut first = host.generate(long()).await.unwrap();
    assert!(matches!(first.next().await, Some(Ok(Piece::Text(_)))));
    drop(first);
    // Its whole answer would take far longer than this one.
    let second = tokio::time::timeout(Duration::from_secs(10), host.generate(asked("Hello")));
    drop(second.await.unwrap().unwrap());
}

#[tokio::test]
async fn parallel_answers_equal_sequential_ones() {
    let host = Host::new(Settings { at_once: 3, ..settings() });
    let questions = ["Who wrote Hamlet?", "Why is the sky blue?", "What does CPU stand for?"];
    let mut alone = Vec::new();
    for question in questions {
        alone.push(whole(host.generate(asked(question)).await.unwrap()).await.0);
    }
    let host = Host::new(Settings { at_once: 3, ..settings() });
    let answer = async |question| whole(host.generate(asked(question)).await.unwrap()).await.0;
    let (first, second, third) =
        tokio::join!(answer(questions[0]), answer(questions[1]), answer(questions[2]));
    assert_eq!([first, second, third].as_slice(), alone);
}

#[tokio::test]
async fn memory_is_allocated_on_first_use_and_freed_when_idle() {
    let host = Host::new(Settings { idle: Duration::from_millis(50), ..settings() });
    assert_eq!(host.memory(), Memory::default());
    let answer = host.generate(asked("Hello")).await.unwrap();
    assert!(host.memory().weights_bytes > 100_000_000);
    drop(whole(answer).await);
    eventually("let go", || host.memory() == Memory::default()).await;
    drop(whole(host.generate(asked("Hello")).await.unwrap()).await);
}

#[tokio::test]
async fn the_conversation_cache_is_bounded() {
    let host = Host::new(settings());
    for turn in 0..12 {
        let owner = format!("owner {turn}");
        let request = Request { owner, sampling: likeliest(1), ..asked(&"word ".repeat(150)) };
        drop(whole(host.generate(request).await.unwrap()).await);
    }
    // Eight conversations of about 180 tokens.
    let kept = host.memory().conversations_bytes;
    assert!((40_000_000..=96 * 1024 * 1024).contains(&kept), "{kept}");
}

#[tokio::test]
async fn a_missing_file_is_reported_and_used_when_it_returns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let host = Host::new(Settings { path: path.clone(), ..settings() });
    let refusal = host.generate(asked("Hello")).await.unwrap_err();
    assert!(matches!(&refusal, Refusal::Broken(_)), "{refusal:?}");
    assert!(refusal.to_string().contains("model.gguf"), "{refusal}");
    std::fs::copy(settings().path, &path).unwrap();
    drop(whole(host.generate(asked("Hello")).await.unwrap()).await);
}
