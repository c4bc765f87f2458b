//! Any text at all as a configuration, a `.env` file and a file of another client: reading never
//! panics, and what a variable resolved to is never shown.
#![no_main]

use mcp_client::config::foreign::{self, Kind};
use mcp_client::config::{Endpoint, MAX_PROBLEMS, Scope, danger, env_file, parse, parse_entry};

/// What the variable `T` resolves to; nothing else looks like it.
const SECRET: &str = "q7Zs-resolved-value";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if text.contains(SECRET) {
        return;
    }
    let scope = Scope {
        secrets: [("T".to_owned(), SECRET.to_owned())].into(),
        home: Some("/home/somebody".into()),
        workspace: "/work".into(),
        ..Scope::default()
    };
    let parsed = parse(&text, &scope);
    assert!(parsed.problems.len() <= MAX_PROBLEMS);
    assert!(parsed.problems.is_sorted_by_key(|problem| (problem.line, problem.column)));
    assert!(!format!("{parsed:?}").contains(SECRET));
    for server in &parsed.servers {
        if let Endpoint::Stdio(endpoint) = &server.entry.endpoint {
            let _ = danger::suspicion(endpoint);
            assert_eq!(danger::fingerprint(endpoint).len(), 64);
        }
    }

    let _ = env_file::parse(&text);
    if let Ok(found) = foreign::read(Kind::Pasted, &text) {
        for server in found {
            let read = parse_entry(&server.name, &server.entry, &scope);
            assert!(!format!("{read:?}").contains(SECRET));
        }
    }
    for kind in [Kind::ClaudeCode, Kind::VsCode, Kind::Codex] {
        let _ = foreign::read(kind, &text);
    }
});
