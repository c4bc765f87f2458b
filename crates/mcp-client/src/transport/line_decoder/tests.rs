//! Tests of `line_decoder`.

use proptest::prelude::*;

use super::*;

fn cut(chunks: &[&[u8]], limit: usize) -> Vec<Line> {
    let mut lines = LineDecoder::with_limit(limit);
    let mut found = Vec::new();
    for chunk in chunks {
        lines.read_buffer().extend_from_slice(chunk);
        found.extend(std::iter::from_fn(|| lines.next_line()));
    }
    found.extend(lines.finish());
    found
}

fn whole(text: &str) -> Line {
    Line::Whole(Bytes::copy_from_slice(text.as_bytes()))
}

#[test]
fn lines_end_at_either_line_ending_or_end_of_stream() {
    assert_eq!(cut(&[b"a\r\nb\n\nc"], 100), [whole("a"), whole("b"), whole(""), whole("c")]);
}

#[test]
fn an_oversized_line_is_dropped_with_its_request_id() {
    let long = format!("{{\"id\":3,\"result\":\"{}\"}}\nnext\n", "x".repeat(5000));
    let late = format!("{{\"result\":\"{}\",\"id\":4}}\nnext\n", "x".repeat(5000));
    for (text, id) in [(long, 3), (late, 4)] {
        let chunks: Vec<&[u8]> = text.as_bytes().chunks(700).collect();
        assert_eq!(cut(&chunks, 2000), [Line::TooLong { id: Some(id) }, whole("next")]);
    }
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_lines(
        text in "[a-c\r\n]{0,200}",
        sizes in prop::collection::vec(1_usize..20, 1..50),
    ) {
        let bytes = text.as_bytes();
        let mut chunks = Vec::new();
        let mut rest = bytes;
        for size in sizes.iter().cycle() {
            if rest.is_empty() { break; }
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            chunks.push(chunk);
            rest = after;
        }
        prop_assert_eq!(cut(&chunks, 1000), cut(&[bytes], 1000));
    }
}

#[test]
fn a_message_is_complete_when_its_last_bracket_closes() {
    let mut joined = LineJoiner::default();
    assert_eq!(joined.push(b"{"), None);
    assert_eq!(joined.push(br#"  "a": ["}", "\"]","#), None);
    assert_eq!(joined.push(b"  1]"), None);
    let whole = b"{\n  \"a\": [\"}\", \"\\\"]\",\n  1]\n}".to_vec();
    assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&whole).is_ok());
    assert_eq!(joined.push(b"}"), Some(whole));
    assert!(joined.is_empty());
}

#[test]
fn oversized_or_broken_messages_are_abandoned() {
    let mut joined = LineJoiner::default();
    assert_eq!(joined.push(b"{\"a"), Some(b"{\"a".to_vec()));
    assert_eq!(joined.push(b"["), None);
    assert!(joined.push(&vec![b'1'; MAX_JOINED_BYTES]).is_some());
    assert!(joined.is_empty());
}
