//! Tests of `event_stream`.

use proptest::prelude::*;

use super::*;

fn decode(chunks: &[&[u8]]) -> (Vec<(String, String)>, Option<String>, Option<u64>) {
    let mut stream = EventStream::default();
    let mut found = Vec::new();
    for chunk in chunks {
        stream.push(Bytes::copy_from_slice(chunk));
        while let Some(event) = stream.next_event().unwrap() {
            found.push((event.kind, String::from_utf8_lossy(&event.data).into_owned()));
        }
    }
    (found, stream.last_id().map(str::to_owned), stream.retry_ms())
}

fn events(text: &str) -> Vec<(String, String)> {
    decode(&[text.as_bytes()]).0
}

fn event(kind: &str, data: &str) -> (String, String) {
    (kind.to_owned(), data.to_owned())
}

#[test]
fn events_are_parsed_according_to_the_standard() {
    assert_eq!(
        events("\u{FEFF}: hello\nevent: a\ndata: 1\ndata:2\r\n\rdata\n\ndata: x"),
        [event("a", "1\n2"), event("", "")]
    );
    assert_eq!(events("data: a\n\ndata:  b\n\n"), [event("", "a"), event("", " b")]);
    assert_eq!(events("id: 1\nretry: 5\n\n"), []);
    assert_eq!(events("DATA: a\nother: b\n\n"), []);
}

#[test]
fn last_event_id_and_retry_are_stored() {
    let text = b"id: 7\nretry: 250\ndata: a\n\nid: 8\ndata: cut off";
    assert_eq!(decode(&[text]), (vec![event("", "a")], Some("7".to_owned()), Some(250)));
    assert_eq!(decode(&[b"id: 7\n\nid\n\n"]).1.as_deref(), Some(""));
    assert_eq!(decode(&[b"retry: 1x\n\n"]).2, None);
}

#[test]
fn oversized_events_are_rejected_with_any_chunking() {
    for text in [format!("data: {}", "x".repeat(200)), "data: xxxxxxxxxx\n".repeat(20)] {
        let mut stream = EventStream::with_limit(100);
        let mut refused = false;
        for chunk in text.as_bytes().chunks(7) {
            stream.push(Bytes::copy_from_slice(chunk));
            refused |= stream.next_event().is_err();
        }
        assert!(refused);
    }
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_events(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "data: a", "data:é", "data", "event: x", "id: 1", "id:", ": c", "retry: 9",
                "\n", "\r", "\r\n", "\n\n", "\u{FEFF}",
            ]),
            0..60,
        ),
        sizes in prop::collection::vec(1_usize..9, 1..20),
    ) {
        let text = pieces.concat();
        let mut chunks = Vec::new();
        let mut rest = text.as_bytes();
        for size in sizes.iter().cycle() {
            if rest.is_empty() { break; }
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            chunks.push(chunk);
            rest = after;
        }
        prop_assert_eq!(decode(&chunks), decode(&[text.as_bytes()]));
    }
}
