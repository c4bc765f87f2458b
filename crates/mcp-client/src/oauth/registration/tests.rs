//! Tests of `registration`.

use super::*;

#[test]
fn a_public_client_is_registered_unless_a_secret_is_required() {
    let mut server = ServerMetadata::guess("https://a.example");
    let method = |server: &mut ServerMetadata, methods: &[&str]| {
        server.auth_methods = Some(methods.iter().map(|&method| method.to_owned()).collect());
        default_auth_method(server)
    };
    assert_eq!(default_auth_method(&server), "none");
    assert_eq!(method(&mut server, &["client_secret_basic", "none"]), "none");
    assert_eq!(method(&mut server, &["client_secret_post"]), "client_secret_post");
    assert_eq!(
        method(&mut server, &["client_secret_post", "client_secret_basic"]),
        "client_secret_basic"
    );
}

#[test]
fn client_secrets_expire_as_announced() {
    let mut registration = Registration {
        client_id: "a".to_owned(),
        client_secret: Some("hidden".to_owned()),
        client_secret_expires_at: 0,
        token_endpoint_auth_method: "client_secret_post".to_owned(),
        redirect_uri: "http://127.0.0.1:4321/callback".to_owned(),
        client_name: "agent".to_owned(),
        suspect: false,
    };
    assert!(!registration.is_over());
    assert!(registration.is_at("http://127.0.0.1:9876/callback"));
    for other in ["http://localhost:4321/callback", "http://127.0.0.1:4321/", "https://a/callback"]
    {
        assert!(!registration.is_at(other), "{other}");
    }
    registration.client_secret_expires_at = 1;
    assert!(registration.is_over());
    assert!(!format!("{registration:?}").contains("hidden"));
    assert!(matches!(registration.client().method, ClientAuthMethod::Post));
}
