//! Any output of a local server: however it is cut into pieces, the same lines come out, and none
//! is longer than the limit allows.
#![no_main]

use mcp_client::transport::line_decoder::{Line, LineDecoder};

/// Small, so that short inputs reach it.
const LIMIT: usize = 64;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&step, text)) = bytes.split_first() else { return };
    let whole = lines(text, usize::from(step) + 1);
    // What is cut differently is the same, unless a line is near the limit: how much of it is seen
    // before it is thrown away depends on the pieces.
    let longest = text.split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap_or_default();
    if longest <= LIMIT {
        assert_eq!(whole, lines(text, 1));
        let expected = text.split(|byte| *byte == b'\n').count() - 1
            + usize::from(text.last().is_some_and(|last| *last != b'\n'));
        assert_eq!(whole.len(), expected);
    }
});

fn lines(text: &[u8], step: usize) -> Vec<Line> {
    let mut lines = LineDecoder::with_limit(LIMIT);
    let mut found = Vec::new();
    for piece in text.chunks(step) {
        lines.read_buffer().extend_from_slice(piece);
        found.extend(std::iter::from_fn(|| lines.next_line()));
    }
    found.extend(lines.finish());
    found
}
