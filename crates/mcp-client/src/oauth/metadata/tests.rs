//! Tests of `metadata`.

use super::*;

fn uri(text: &str) -> Uri {
    text.parse().unwrap()
}

#[test]
fn resource_metadata_is_looked_up_by_path_then_root() {
    assert_eq!(
        resource_addresses(&uri("https://Example.com:443/public/mcp?key=1")),
        [
            "https://example.com/.well-known/oauth-protected-resource/public/mcp",
            "https://example.com/.well-known/oauth-protected-resource",
        ]
    );
    assert_eq!(
        resource_addresses(&uri("http://localhost:3000/")),
        ["http://localhost:3000/.well-known/oauth-protected-resource"]
    );
}

#[test]
fn issuers_have_three_metadata_urls_with_a_path_else_two() {
    assert_eq!(
        server_addresses(&uri("https://auth.example.com/tenant1")),
        [
            "https://auth.example.com/.well-known/oauth-authorization-server/tenant1",
            "https://auth.example.com/.well-known/openid-configuration/tenant1",
            "https://auth.example.com/tenant1/.well-known/openid-configuration",
        ]
    );
    assert_eq!(
        server_addresses(&uri("https://auth.example.com/")),
        [
            "https://auth.example.com/.well-known/oauth-authorization-server",
            "https://auth.example.com/.well-known/openid-configuration",
        ]
    );
}

#[test]
fn a_resource_covers_its_own_and_deeper_paths() {
    let server = uri("https://mcp.example.com/a/mcp");
    for resource in [
        "https://mcp.example.com/a/mcp", "https://mcp.example.com/a/mcp/",
        "https://MCP.example.com:443/a", "https://mcp.example.com",
    ] {
        assert!(covers(resource, &server), "{resource}");
    }
    for resource in [
        "https://mcp.example.com/a/mc",
        "https://mcp.example.com/a/mcp/more",
        "https://evil.example.com/a/mcp",
        "http://mcp.example.com/a/mcp",
        "https://mcp.example.com:8443/a/mcp",
        "not an address",
    ] {
        assert!(!covers(resource, &server), "{resource}");
    }
}

#[test]
fn canonical_server_urls_have_no_query_or_trailing_slash() {
    assert_eq!(
        canonical(&uri("HTTPS://Mcp.Example.com/mcp/?token=x")),
        "https://mcp.example.com/mcp"
    );
    assert_eq!(canonical(&uri("https://mcp.example.com/")), "https://mcp.example.com");
    assert_eq!(canonical(&uri("http://[::1]:8080/mcp")), "http://[::1]:8080/mcp");
}

#[test]
fn metadata_round_trips_through_storage() {
    let document = json!({
        "issuer": "https://a.example",
        "authorization_endpoint": "https://a.example/authorize",
        "token_endpoint": "https://a.example/token",
        "scopes_supported": ["a", 1, "b"],
        "code_challenge_methods_supported": ["plain", "S256"],
        "client_id_metadata_document_supported": true,
        "registration_endpoint": 7,
    });
    let read = ServerMetadata::read(document.as_object().unwrap()).unwrap();
    assert_eq!(read.scopes_supported, ["a", "b"]);
    assert_eq!(read.registration_endpoint, None);
    assert!(read.supports_client_documents && read.supports_pkce());
    let again: ServerMetadata = serde_json::from_value(json!(read)).unwrap();
    assert_eq!(again, read);
    assert!(ServerMetadata::guess("https://b.example").supports_pkce());
}

#[test]
fn pkce_is_supported_only_if_announced() {
    let mut metadata = ServerMetadata::guess("https://a.example");
    metadata.guessed = false;
    assert!(!metadata.supports_pkce());
    metadata.code_challenge_methods = Some(vec!["plain".to_owned()]);
    assert!(!metadata.supports_pkce());
}
