//! Tests of the files.

use std::os::unix::fs::PermissionsExt;

use super::*;

fn tokens() -> StoredTokens {
    StoredTokens {
        access_token: "access-secret".to_owned(),
        token_type: "Bearer".to_owned(),
        refresh_token: Some("refresh-secret".to_owned()),
        scope: Some("a b".to_owned()),
        requested_scope: None,
        expires_at: Some(2_000_000_000),
        obtained_at: 1,
        issuer: "https://a.example".to_owned(),
        client_id: "me".to_owned(),
        resource: "https://mcp.example/mcp".to_owned(),
        key: None,
        login: "one".to_owned(),
        renewals: 0,
    }
}

fn store() -> (tempfile::TempDir, TokenStore) {
    let home = tempfile::tempdir().unwrap();
    let store =
        TokenStore::new(&home.path().join("mcp-tokens"), "docs", &Host::bare(BTreeMap::new()));
    (home, store)
}

#[test]
fn tokens_are_stored_per_server_and_private() {
    let (home, store) = store();
    assert_eq!(store.tokens(), Ok(None));
    store.save_tokens(&tokens()).unwrap();
    assert_eq!(store.tokens(), Ok(Some(tokens())));
    let path = home.path().join("mcp-tokens/docs.json");
    assert_eq!(store.tokens_path(), path);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    // What others could look into is closed by the next write.
    std::fs::set_permissions(path.parent().unwrap(), std::fs::Permissions::from_mode(0o755))
        .unwrap();
    store.save_tokens(&tokens()).unwrap();
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let left: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn debug_output_of_tokens_is_redacted() {
    let shown = format!("{:?}", tokens());
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn damaged_token_files_are_named_and_set_aside() {
    let (_home, store) = store();
    store.save_tokens(&tokens()).unwrap();
    let whole = std::fs::read(store.tokens_path()).unwrap();
    for (bytes, reason) in [
        (&whole[..whole.len() / 2], "is corrupt: invalid JSON"),
        (b"{\"access_token\": 7}".as_slice(), "is corrupt: a key is missing or invalid"),
        (
            b"{\"version\": 2, \"access_token\": \"access-secret\"}",
            "was written by another version of this program",
        ),
    ] {
        std::fs::write(store.tokens_path(), bytes).unwrap();
        let unreadable = store.tokens().unwrap_err();
        assert_eq!(unreadable.reason, reason);
        assert!(!unreadable.to_string().contains("secret"));
        if reason.starts_with("is corrupt: a key") {
            continue;
        }
        store.save_tokens(&tokens()).unwrap();
        assert_eq!(store.tokens(), Ok(Some(tokens())));
        let aside = store.tokens_path().with_extension("json.bak");
        assert_eq!(std::fs::read(aside).unwrap(), bytes);
    }
}

#[test]
fn token_files_of_the_first_format_are_readable() {
    let (_home, store) = store();
    store.forget().unwrap();
    store.save_tokens(&tokens()).unwrap();
    std::fs::write(store.tokens_path(), b"{\"access_token\": \"x\", \"expires_in\": 60}").unwrap();
    let read = store.tokens().unwrap().unwrap();
    assert_eq!((read.access_token.as_str(), read.token_type.as_str()), ("x", "Bearer"));
    assert_eq!(read.expires_at, None);
}

#[test]
fn server_names_map_to_distinct_files() {
    let names = [
        "docs", "docs.client", "docs.meta", "docs.json", "docs_client", "a.b", "a_b", "a b", "a/b",
        "..", ".", "", "docs.cimd-off", "docs.lock", "ä", "a\u{0}b", "CON.", ".docs",
    ];
    let parts = [
        StoreFile::Tokens,
        StoreFile::Clients,
        StoreFile::Metadata,
        StoreFile::Refused,
        StoreFile::Lock,
    ];
    let mut seen = BTreeMap::new();
    for name in names {
        let store = TokenStore::new(Path::new("/x"), name, &Host::bare(BTreeMap::new()));
        for part in parts {
            let path = store.path(part);
            assert_eq!(path.parent(), Some(Path::new("/x")), "{name}");
            if let Some(other) = seen.insert(path.clone(), name) {
                panic!("{name} and {other} share {}", path.display());
            }
        }
    }
    assert_eq!(
        file_stem("GitHub.com"),
        if cfg!(target_os = "linux") { "GitHub.com".to_owned() } else { file_stem("GitHub.com") }
    );
    assert!(file_stem(&"x".repeat(1000)).len() < 100);
}

#[test]
fn a_rejected_document_is_recorded_until_cleared() {
    let (home, store) = store();
    assert!(!store.has_refused_document());
    store.mark_document_refused().unwrap();
    assert!(home.path().join("mcp-tokens/docs.cimd-off").exists());
    assert!(store.has_refused_document());
    store.clear_refused_document().unwrap();
    store.clear_refused_document().unwrap();
    assert!(!store.has_refused_document());
}

#[test]
fn registrations_are_stored_per_issuer_and_limited() {
    let (_home, store) = store();
    let registration = |id: usize| Registration {
        client_id: format!("client {id}"),
        client_secret: None,
        client_secret_expires_at: 0,
        token_endpoint_auth_method: "none".to_owned(),
        redirect_uri: String::new(),
        client_name: String::new(),
        suspect: false,
    };
    for id in 0..MAX_ISSUERS + 3 {
        let issuer = format!("https://{id:02}.example");
        store
            .change_clients(|clients| {
                clients.registrations.insert(issuer, registration(id));
            })
            .unwrap();
    }
    let kept = store.clients().registrations;
    assert_eq!(kept.len(), MAX_ISSUERS);
    assert_eq!(kept["https://10.example"].client_id, "client 10");
}

#[tokio::test(start_paused = true)]
async fn the_renewal_lock_times_out() {
    let (_home, store) = store();
    let held = store.lock().await.unwrap();
    assert!(matches!(store.lock().await, Err(Error::Busy { .. })));
    drop(held);
    store.lock().await.unwrap();
}

#[test]
fn an_unused_reservation_leaves_no_file() {
    let (_home, store) = store();
    store.save_tokens(&tokens()).unwrap();
    drop(store.reserve_tokens().unwrap());
    assert_eq!(store.tokens(), Ok(Some(tokens())));
    let room = store.reserve_tokens().unwrap();
    let mut newer = tokens();
    newer.access_token = "newer".to_owned();
    store.save_reserved(room, &newer).unwrap();
    assert_eq!(store.tokens(), Ok(Some(newer)));
    let left: Vec<_> = std::fs::read_dir(store.folder.as_path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn tokens_are_replaced_by_newer_ones_and_other_logins() {
    let first = tokens();
    let renewed = StoredTokens { access_token: "b".to_owned(), renewals: 1, ..tokens() };
    assert!(renewed.replace(&first) && !first.replace(&renewed) && !first.replace(&first));
    let only_refresh =
        StoredTokens { refresh_token: Some("r2".to_owned()), renewals: 1, ..tokens() };
    assert!(only_refresh.replace(&first));
    let other = StoredTokens { login: "two".to_owned(), ..tokens() };
    assert!(other.replace(&renewed) && renewed.replace(&other));
}
