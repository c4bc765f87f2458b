//! Any `WWW-Authenticate` header: reading never panics, stays within its limits, gives only names
//! that can be names, and joining headers loses no challenge of the first.
#![no_main]

use mcp_client::oauth::challenge::{MAX_CHALLENGES, parse};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let header = String::from_utf8_lossy(bytes);
    let challenges = parse(&header);
    assert!(challenges.len() <= MAX_CHALLENGES);
    for challenge in &challenges {
        let scheme = challenge.scheme();
        assert!(!scheme.is_empty() && !scheme.contains(['=', ',', ' ', '"']));
        assert_eq!(scheme, scheme.to_ascii_lowercase());
        // No name holds what separates names.
        for name in ["", "a=b", "a b", "a,b", "\"a\""] {
            assert_eq!(challenge.param(name), None);
        }
        assert_eq!(challenge.param("SCOPE"), challenge.param("scope"));
    }
    // White space around a header changes nothing.
    assert_eq!(parse(&format!(" ,\t{header}")), challenges);
    // A header behind another one takes nothing from it.
    let joined = parse(&format!("{header}, Bearer"));
    assert_eq!(joined[..challenges.len()], challenges);
});
