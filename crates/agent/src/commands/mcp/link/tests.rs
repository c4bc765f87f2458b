//! Tests of `shareable`.

use serde_json::json;

use super::*;

#[test]
fn secrets_are_removed_from_every_field() {
    let entry = json!({
        "command": "run",
        "args": ["--token", "s3cretvalue", "--key=s3cret2value", "x ghp_0123456789abcdef y"],
        "env": {"API_KEY": "s3cret3value", "MODE": "fast", "KEPT": "${MINE}"},
        "token": "s3cret4value",
        "tools": {"include": ["a"], "password": "s3cret5value"},
    });
    let Shareable { entry, replaced, notes } = Shareable::of("x", entry).unwrap();
    let text = Json::Object(entry).to_string();
    assert!(!text.contains("s3cret") && !text.contains("ghp_"), "{text}");
    assert!(text.contains("${MINE}") && text.contains("fast"), "{text}");
    assert_eq!(replaced.len(), 4, "{replaced:?}");
    assert_eq!(notes.len(), 2, "{notes:?}");
}

#[test]
fn secrets_of_remote_servers_are_removed() {
    let entry = json!({
        "url": "https://u:s3cretvalue@example.com/mcp?api_key=s3cret2value",
        "headers": {"Authorization": "Bearer s3cret3value", "X-Team": "red"},
        "client_cert": ["/c.pem", "/k.pem", "s3cret4value"],
        "oauth": {"client_id": "mine", "client_secret": "s3cret5value"},
        "auth": "oauth",
    });
    let Shareable { entry, replaced, notes } = Shareable::of("x", entry).unwrap();
    let text = Json::Object(entry).to_string();
    assert!(!text.contains("s3cret"), "{text}");
    assert!(text.contains("Bearer ${MCP_X_AUTHORIZATION}") && text.contains("mine"), "{text}");
    assert_eq!(replaced.len(), 5, "{replaced:?}");
    assert_eq!(notes.len(), 2, "{notes:?}");
}

#[test]
fn secrets_next_to_variable_references_are_removed() {
    let entry = json!({
        "url": "https://${HOST}/mcp?api_key=s3cretvalue&x=${X}",
        "headers": {"Authorization": "Bearer ${TOKEN}"},
    });
    let Shareable { entry, .. } = Shareable::of("x", entry).unwrap();
    let expected = json!({
        "url": "https://${HOST}/mcp?api_key=${MCP_X_API_KEY}&x=${X}",
        "headers": {"Authorization": "Bearer ${TOKEN}"},
    });
    assert_eq!(Json::Object(entry), expected);
    let entry = json!({"command": "x", "env": {"API_KEY": "${HALF}s3cretvalue"}});
    let told = Shareable::of("x", entry).unwrap_err();
    assert_eq!(told.message.unwrap(), "cannot remove a secret of `x`: env.API_KEY");
    let entry = json!({"url": "nonsense", "headers": {"Authorization": "s3cretvalue"}});
    let told = Shareable::of("x", entry).unwrap_err();
    assert!(!format!("{told:?}").contains("s3cret"), "{told:?}");
}

#[test]
fn oauth_secrets_are_removed_even_if_oauth_is_off() {
    for auth in [json!("oauth"), json!(null)] {
        let oauth = json!({
            "flow": "enterprise", "client_id": "c", "client_secret": "s3cret",
            "assertion": "s3cret2", "idp_client_secret": "${MINE}",
            "idp_token_endpoint": "https://idp.example/t", "private_key": "keys/k.pem",
        });
        let entry = json!({"url": "https://x.example/", "auth": auth, "oauth": oauth});
        let Shareable { entry, replaced, notes } = Shareable::of("x", entry).unwrap();
        let text = Json::Object(entry).to_string();
        assert!(!text.contains("s3cret") && text.contains("${MINE}"), "{text}");
        assert_eq!(replaced.len(), 2, "{replaced:?}");
        assert!(notes.iter().any(|note| note.starts_with("oauth.private_key: ")), "{notes:?}");
        for key in ["assertion", "idp_client_secret", "client_secret"] {
            let mut oauth = json!({"client_id": "c"});
            oauth[key] = json!("${X}literal");
            let entry = json!({"url": "https://x.example/", "auth": auth, "oauth": oauth});
            let told = Shareable::of("x", entry).unwrap_err().message.unwrap();
            assert_eq!(told, format!("cannot remove a secret of `x`: oauth.{key}"));
        }
    }
}

#[test]
fn paths_are_distinguished_from_other_arguments() {
    for path in ["/usr/bin/x", "~/x", "~", "C:\\x", "d:/x"] {
        assert!(is_path(path), "{path}");
    }
    for word in ["npx", "@scope/x", "./x", "a:b", "", "ß:/", "~x"] {
        assert!(!is_path(word), "{word}");
    }
}
