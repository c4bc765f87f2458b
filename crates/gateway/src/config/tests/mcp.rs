//! `mcp`.

use super::*;

#[test]
fn hosts_and_origins_are_parsed() {
    let config = clean(
        "mcp:
  allowed_hosts: [AI.example.com, gate]
  allowed_origins: ['https://app.example.com', 'http://tools.internal:8080']
",
    );
    assert_eq!(config.mcp.allowed_hosts, ["ai.example.com", "gate"]);
    let origins = ["https://app.example.com", "http://tools.internal:8080"];
    assert_eq!(config.mcp.allowed_origins, origins);
}

#[test]
fn invalid_hosts_and_origins_are_rejected() {
    refused(
        "mcp: {allowed_hosts: ['a:80'], allowed_origins: [a.example]}",
        &[
            "error 1:22: mcp.allowed_hosts: entry 1 is not a host name such as `ai.example.com`",
            "error 1:49: mcp.allowed_origins: entry 1 is not an origin such as \
             `https://app.example.com`, without a path",
        ],
    );
    for wrong in ["allowed_hosts: ['http://a']", "allowed_origins: ['https://a/b']"] {
        assert_eq!(said(&reading(&format!("mcp: {{{wrong}}}"))).len(), 1, "{wrong}");
    }
}
