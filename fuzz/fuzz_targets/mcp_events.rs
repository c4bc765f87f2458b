//! Any stream of events: however it is cut into pieces, the same events come out, with the same
//! last id and the same wait.
#![no_main]

use bytes::Bytes;
use mcp_client::transport::event_stream::{Event, EventStream};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&step, text)) = bytes.split_first() else { return };
    assert_eq!(decoded(text, usize::from(step) + 1), decoded(text, 1));
    // A limit ends it in an error, never in a panic.
    let mut small = EventStream::with_limit(32);
    for piece in text.chunks(usize::from(step) + 1) {
        small.push(Bytes::copy_from_slice(piece));
        while let Ok(Some(event)) = small.next_event() {
            assert!(event.data.len() <= text.len());
        }
    }
});

fn decoded(text: &[u8], step: usize) -> (Vec<Event>, Option<String>, Option<u64>) {
    let mut stream = EventStream::default();
    let mut events = Vec::new();
    for piece in text.chunks(step) {
        stream.push(Bytes::copy_from_slice(piece));
        while let Ok(Some(event)) = stream.next_event() {
            events.push(event);
        }
    }
    (events, stream.last_id().map(str::to_owned), stream.retry_ms())
}
