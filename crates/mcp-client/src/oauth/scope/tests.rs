//! Tests of `scope`.

use super::super::challenge::parse;
use super::*;

/// Scopes of a resource, and whether its authorization server offers offline access.
type Offer<'a> = (Option<&'a [&'a str]>, bool);

fn choose(
    configured: Option<&str>,
    challenge: &str,
    before: Option<&str>,
    (published, offline): Offer<'_>,
) -> Option<String> {
    let owned = |scopes: &[&str]| scopes.iter().map(|&scope| scope.to_owned()).collect();
    let by_resource: Option<Vec<String>> = published.map(owned);
    let by_issuer: &[String] = if offline { &[OFFLINE.to_owned()] } else { &[] };
    let request = ScopeRequest { configured, challenges: &parse(challenge), before };
    request.choose(by_resource.as_deref(), by_issuer)
}

#[test]
fn challenge_scopes_precede_published_ones() {
    let published: Offer<'_> = (Some(&["read", "write"]), false);
    assert_eq!(choose(None, "Bearer scope=\"a b\"", None, published).as_deref(), Some("a b"));
    assert_eq!(choose(None, "Bearer", None, published).as_deref(), Some("read write"));
    assert_eq!(choose(None, "Bearer", None, (None, false)), None);
    assert_eq!(
        choose(Some("mine"), "Bearer scope=\"a\"", None, published).as_deref(),
        Some("mine")
    );
}

#[test]
fn offline_access_is_requested_only_if_offered() {
    let offered: Offer<'_> = (Some(&["read"]), true);
    assert_eq!(choose(None, "", None, offered).as_deref(), Some("read offline_access"));
    assert_eq!(choose(Some("read"), "", None, offered).as_deref(), Some("read"));
    assert_eq!(choose(None, "", None, (Some(&["read"]), false)).as_deref(), Some("read"));
}

#[test]
fn a_step_up_keeps_the_granted_scopes() {
    let published: Offer<'_> = (Some(&["profile"]), false);
    let challenge = "Bearer error=\"insufficient_scope\", scope=\"write\"";
    assert!(is_insufficient(&parse(challenge)));
    assert_eq!(choose(None, challenge, Some("read"), published).as_deref(), Some("read write"));
    assert_eq!(
        choose(Some("own"), challenge, Some("read"), published).as_deref(),
        Some("read own write")
    );
    assert!(contains_all("read write", "write") && !contains_all("read", "write"));
}
