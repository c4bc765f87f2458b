//! Any text as an install link, and any bytes as the configuration of one: reading never panics,
//! and a link that was read can be made again and reads the same.
#![no_main]
#![expect(clippy::panic, reason = "a panic is how a finding is reported")]

use mcp_client::config::{Scope, parse_entry, valid_name};
use mcp_client::install_link::{MAX_CONFIG_BYTES, build, parse};
use serde_json::Value;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    judge(&text);
    judge(&format!("agent://mcp/install?name=a&config={text}"));
    judge(&format!("agent://mcp/install?name=a&config={}", encoded(bytes)));
});

fn judge(text: &str) {
    let link = match parse(text) {
        Ok(link) => link,
        Err(error) => {
            assert!(!error.code().is_empty() && !error.to_string().is_empty());
            return;
        }
    };
    assert!(valid_name(&link.name));
    assert_ne!(link.config.contains_key("url"), link.config.contains_key("command"));
    let entry = Value::Object(link.config.clone());
    let _ = parse_entry(&link.name, &entry, &Scope::default());
    match build(&link.name, &link.config) {
        // Numbers with many digits are read to within their last one.
        Ok(again) if is_exact(&entry) => assert_eq!(parse(&again).as_ref(), Ok(&link)),
        Ok(again) => assert!(parse(&again).is_ok()),
        // Written out, numbers and escapes may need more room than they had.
        Err(error) if entry.to_string().len() > MAX_CONFIG_BYTES => {
            assert_eq!(error.code(), "payload_too_large");
        }
        Err(error) => panic!("read, yet not made: {error}"),
    }
}

fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_f64(),
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(entries) => entries.values().all(is_exact),
        _ => true,
    }
}

/// The bytes in base64url, so that what is tried is mostly JSON and not mostly base64.
fn encoded(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::with_capacity(bytes.len() * 4 / 3 + 3);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
        let word = word << (8 * (3 - chunk.len()));
        for at in 0..=chunk.len() {
            let letter = word >> (18 - 6 * at) & 63;
            text.push(char::from(LETTERS[letter as usize]));
        }
    }
    text
}
