//! What answers are: the same every time, ended where they should be, and cheap to go on from.

use super::{asked, likeliest, settings, whole};
use crate::{End, Host, Message, Piece, Refusal, Request, Sampling};

/// What this engine answers, token by token the likeliest. The first words are those of llama.cpp
/// (`tests/recorded/answers.json`); later ones may differ, since numbers are rounded in other places.
const ANSWERS: &str = include_str!("../../tests/recorded/own_answers.json");
const OF_LLAMA_CPP: &str = include_str!("../../tests/recorded/answers.json");

#[tokio::test]
async fn ten_questions_are_answered_as_recorded() {
    let host = Host::new(settings());
    let recorded: Vec<(String, String)> = serde_json::from_str(ANSWERS).unwrap();
    assert_eq!(recorded.len(), 10);
    let mut got = Vec::new();
    for (question, _) in &recorded {
        let (text, _) = whole(host.generate(asked(question)).await.unwrap()).await;
        got.push((question.clone(), text));
    }
    assert_eq!(got, recorded);
    let others: Vec<(String, String)> = serde_json::from_str(OF_LLAMA_CPP).unwrap();
    let same = |((_, own), (_, other)): &(&(String, String), &(String, String))| {
        own.split_whitespace().take(3).eq(other.split_whitespace().take(3))
    };
    let same = recorded.iter().zip(&others).filter(same).count();
    assert!(same >= 8, "only {same} begin as those of llama.cpp");
}

#[tokio::test]
async fn the_same_seed_gives_the_same_text() {
    let host = Host::new(settings());
    let ask = |seed| {
        let sampling = Sampling {
            temperature: Some(1.0),
            seed: Some(seed),
            max_tokens: Some(16),
            ..Sampling::default()
        };
        Request { sampling, ..asked("Tell me a story.") }
    };
    let mut texts = Vec::new();
    for seed in [1, 1, 2] {
        texts.push(whole(host.generate(ask(seed)).await.unwrap()).await.0);
    }
    assert_eq!(texts[0], texts[1]);
    assert_ne!(texts[0], texts[2]);
}

#[tokio::test]
async fn an_answer_ends_by_length_stop_sequence_or_end_token() {
    let host = Host::new(settings());
    let question = "List the days of the week.";
    let request = Request { sampling: likeliest(5), ..asked(question) };
    let (text, end) = whole(host.generate(request).await.unwrap()).await;
    assert_eq!(end, Piece::End { reason: End::Length, completion_tokens: 5 });
    let long = Request { sampling: likeliest(40), ..asked(question) };
    let (all, _) = whole(host.generate(long).await.unwrap()).await;
    assert!(all.starts_with(&text) && all.contains("Tuesday"), "{all}");

    let sampling = Sampling { stop: vec!["Tuesday".to_owned()], ..likeliest(40) };
    let stopped = Request { sampling, ..asked(question) };
    let (before, end) = whole(host.generate(stopped).await.unwrap()).await;
    assert_eq!(before, all.split("Tuesday").next().unwrap());
    assert!(matches!(end, Piece::End { reason: End::Stop, .. }), "{end:?}");

    let request = Request { sampling: likeliest(200), ..asked("Name three colours.") };
    let (_, end) = whole(host.generate(request).await.unwrap()).await;
    assert!(matches!(end, Piece::End { reason: End::Stop, .. }), "{end:?}");
}

#[tokio::test]
async fn the_next_turn_computes_only_new_tokens() {
    let (host, fresh) = (Host::new(settings()), Host::new(settings()));
    let mut request = asked("Who wrote Hamlet?");
    let first = host.generate(request.clone()).await.unwrap();
    let prompt = first.prompt_tokens;
    assert_eq!(first.cached_tokens, 0);
    let (answer, _) = whole(first).await;
    let turn =
        |role: &str, content: &str| Message { role: role.to_owned(), content: content.to_owned() };
    request.messages.extend([turn("assistant", &answer), turn("user", "When was he born?")]);

    let other = Request { owner: "grace".to_owned(), ..request.clone() };
    let other = host.generate(other).await.unwrap();
    assert_eq!(other.cached_tokens, 0, "what one owner computed was used for another");
    drop(whole(other).await);

    let again = host.generate(request.clone()).await.unwrap();
    assert!(again.cached_tokens > prompt, "{} of {}", again.cached_tokens, again.prompt_tokens);
    assert!(again.cached_tokens < again.prompt_tokens);
    let (with, _) = whole(again).await;
    let (without, _) = whole(fresh.generate(request).await.unwrap()).await;
    assert_eq!(with, without);
}

#[tokio::test]
async fn a_conversation_beyond_the_window_is_rejected_with_both_sizes() {
    let host = Host::new(crate::Settings { window: 128, ..settings() });
    let refusal = host.generate(asked(&"word ".repeat(200))).await.unwrap_err();
    let Refusal::TooLong { prompt, window: 128 } = refusal else { panic!("{refusal:?}") };
    assert!((200..260).contains(&prompt), "{prompt}");
    // What is left of the window is the most that is said.
    let request = Request { sampling: Sampling::default(), ..asked(&"word ".repeat(80)) };
    let answer = host.generate(request).await.unwrap();
    let room = 128 - answer.prompt_tokens;
    let (_, end) = whole(answer).await;
    let Piece::End { completion_tokens, .. } = end else { panic!("{end:?}") };
    assert!(completion_tokens <= room, "{completion_tokens} of {room}");
}

#[tokio::test]
async fn unknown_roles_do_not_break_the_prompt() {
    let host = Host::new(settings());
    let odd = Message { role: "<|im_start|>".to_owned(), content: "\u{F8FF}".to_owned() };
    let request = Request { messages: vec![odd], ..asked("") };
    // Any role is a word to this template; it must only not break the prompt.
    let (_, end) = whole(host.generate(request).await.unwrap()).await;
    assert!(matches!(end, Piece::End { .. }));
}
