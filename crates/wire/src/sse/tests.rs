//! Laws of the codec, and the cases of the standard one by one.

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

use super::{Event, Splitter, TooLarge, write_data, write_event};

const LIMIT: usize = 1 << 20;

/// Everything a splitter makes of the chunks, and the rest.
fn split(chunks: &[&[u8]], max: usize) -> (Vec<Result<Event, TooLarge>>, Option<Event>, bool) {
    let mut splitter = Splitter::new(max);
    let mut events = Vec::new();
    for chunk in chunks {
        splitter.push(Bytes::copy_from_slice(chunk));
        while let Some(event) = splitter.next() {
            events.push(event);
        }
    }
    let clean = splitter.is_clean();
    (events, splitter.rest(), clean)
}

fn events(stream: &[u8]) -> Vec<Event> {
    let (events, rest, _) = split(&[stream], LIMIT);
    events.into_iter().map(Result::unwrap).chain(rest).collect()
}

fn only(stream: &[u8]) -> Event {
    let mut events = events(stream);
    assert_eq!(events.len(), 1, "{events:?}");
    events.remove(0)
}

#[test]
fn an_event_inside_one_chunk_is_not_copied() {
    let chunk = Bytes::from_static(b"data: one\n\ndata: two\n\n");
    let mut splitter = Splitter::new(LIMIT);
    splitter.push(chunk.clone());
    let first = splitter.next().unwrap().unwrap();
    let second = splitter.next().unwrap().unwrap();
    assert_eq!(first.raw().as_ptr(), chunk.as_ptr());
    assert_eq!(second.raw().as_ptr(), chunk[11..].as_ptr());
    assert!(splitter.next().is_none() && splitter.is_clean());
}

#[test]
fn fields_are_parsed_according_to_the_standard() {
    let event = only(b"event: old\nevent:new\nid: 7\nretry: 9\n: note\ndata:  a\ndata\ndata:b\n\n");
    assert_eq!(event.name(), Some("new"));
    assert_eq!(event.id(), Some("7"));
    assert_eq!(&*event.data(), b" a\n\nb");
    assert!(!event.is_comment());
    let odd = only(b"event:\nid: a\0b\ndatas: x\n\n");
    assert_eq!((odd.name(), odd.id(), odd.is_comment()), (None, None, true));
}

#[test]
fn every_line_ending_terminates_an_event() {
    for end in ["\n", "\r\n", "\r"] {
        let stream = format!("data: 1{end}{end}: hi{end}{end}data: 2{end}{end}");
        let found = events(stream.as_bytes());
        assert_eq!(found.len(), 3, "{end:?}");
        assert_eq!((&*found[0].data(), &*found[2].data()), (&b"1"[..], &b"2"[..]));
        assert!(found[1].is_comment());
    }
}

#[test]
fn a_byte_order_mark_is_skipped_only_at_the_start() {
    let found = events(b"\xEF\xBB\xBFdata: 1\n\n\xEF\xBB\xBFdata: 2\n\n");
    assert_eq!(&*found[0].data(), b"1");
    assert!(found[0].raw().starts_with(b"\xEF\xBB\xBF"));
    assert!(found[1].is_comment());
    assert_eq!(events(b"\xEF\xBB\xBF\ndata: 2\n\n").len(), 2);
    assert_eq!(events(b"\xEF\xBB\ndata: 2\n\n").len(), 1);
}

#[test]
fn a_stream_cut_inside_an_event_is_not_clean() {
    let (whole, rest, clean) = split(&[b"data: 1\n\nda", b"ta: 2\n"], LIMIT);
    assert_eq!((whole.len(), clean), (1, false));
    assert_eq!(&*rest.unwrap().data(), b"2");
    let (whole, rest, clean) = split(&[b"data: 1\r", b"\r"], LIMIT);
    assert_eq!((whole.len(), clean), (0, true));
    assert_eq!(&*rest.unwrap().data(), b"1");
    assert!(split(&[], LIMIT).2);
}

#[test]
fn the_event_size_limit_is_exact() {
    let (fits, ..) = split(&[b"data: 12", b"34\n\n"], 12);
    assert!(matches!(fits.as_slice(), [Ok(_)]), "{fits:?}");
    for chunks in [&[&b"data: 12345\n\ndata: 1\n\n"[..]][..], &[b"data: 12", b"345\n\ndata: 1\n\n"]]
    {
        let (failed, rest, clean) = split(chunks, 12);
        assert_eq!(failed, [Err(TooLarge { max_event_bytes: 12 })]);
        assert_eq!((rest, clean), (None, false));
    }
}

#[test]
fn events_not_drained_between_pushes_are_buffered() {
    let mut splitter = Splitter::new(LIMIT);
    splitter.push(Bytes::from_static(b"data: 1\n\nda"));
    splitter.push(Bytes::from_static(b"ta: 2\n\n"));
    assert_eq!(&*splitter.next().unwrap().unwrap().data(), b"1");
    assert_eq!(&*splitter.next().unwrap().unwrap().data(), b"2");
    assert!(splitter.next().is_none());
}

#[test]
fn written_events_have_the_canonical_format() {
    let mut out = BytesMut::new();
    write_data(&mut out, b"{}");
    write_event(&mut out, "ping\nforged: x", b"a\r\nb");
    assert_eq!(&out[..], b"data: {}\n\nevent: ping\ndata: a\ndata: b\n\n");
}

/// Bytes that are mostly what the grammar is made of.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop_oneof![
        4 => Just(b"data: ".to_vec()),
        4 => Just(b"\n".to_vec()),
        2 => Just(b"\r".to_vec()),
        2 => Just(b"\r\n".to_vec()),
        2 => Just(b"\n\n".to_vec()),
        1 => Just(b"\xEF\xBB\xBF".to_vec()),
        1 => Just(b"event: e".to_vec()),
        1 => Just(b": c".to_vec()),
        2 => proptest::collection::vec(any::<u8>(), 0..6),
    ];
    proptest::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

fn chunked<'a>(stream: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
    at.extend([0, stream.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect()
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_events(
        stream in streams(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
        max in prop_oneof![Just(LIMIT), 4_usize..24],
    ) {
        let whole = split(&[&stream], max);
        prop_assert_eq!(&split(&chunked(&stream, &cuts), max), &whole);
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        prop_assert_eq!(&split(&bytes, max), &whole);
    }

    #[test]
    fn raw_pieces_concatenate_to_the_stream(stream in streams()) {
        let joined: Vec<u8> = events(&stream).iter().flat_map(|event| event.raw().to_vec()).collect();
        prop_assert_eq!(joined, stream);
    }

    #[test]
    fn events_end_at_their_only_blank_line(stream in streams()) {
        let (found, ..) = split(&[&stream], LIMIT);
        for (n, event) in found.into_iter().enumerate() {
            let event = event.unwrap();
            let unmarked = event.raw().strip_prefix(b"\xEF\xBB\xBF").filter(|_| n == 0);
            let text = unmarked.unwrap_or(event.raw());
            let lines: Vec<&[u8]> = super::event::Lines(text).collect();
            prop_assert_eq!(lines.iter().position(|line| line.is_empty()), Some(lines.len() - 1));
        }
    }

    #[test]
    fn written_data_round_trips(data in "\\PC*(\n\\PC*){0,3}", name in "[a-z.]{1,12}") {
        let mut out = BytesMut::new();
        write_event(&mut out, &name, data.as_bytes());
        let event = only(&out);
        prop_assert_eq!(event.name(), Some(name.as_str()));
        prop_assert_eq!(&*event.data(), data.as_bytes());
    }
}
