//! Tests of `canonical`.

use proptest::prelude::*;

use super::*;

#[test]
fn equivalent_urls_have_the_same_canonical_form() {
    let same = [
        "https://example.com/a/b?x=1&y=2",
        "http://www.example.com/a/b/?y=2&x=1",
        "HTTPS://EXAMPLE.com:443/a/b?x=1&utm_source=feed&y=2#part",
        "https://example.com./a/%62?x=1&y=2&gclid=abc",
        " https://www.www.example.com/a/c/../b?x=1&y=2&UTM_Medium=x ",
    ];
    for address in same {
        assert_eq!(canonical(address).unwrap(), "example.com/a/b?x=1&y=2", "{address}");
    }
    assert_eq!(canonical("https://example.com").unwrap(), "example.com");
}

#[test]
fn different_pages_have_different_canonical_forms() {
    let different = [
        "https://example.com/a", "https://example.com/A", "https://sub.example.com/a",
        "https://example.com:8443/a", "https://example.com/a?x=1", "https://example.com/a?x=2",
        "https://example.com/a#!/one", "https://example.com/a%2Fb", "https://example.com/a/b",
        "https://www.com/a",
    ];
    let mut forms: Vec<String> = different.iter().filter_map(|url| canonical(url)).collect();
    forms.sort();
    forms.dedup();
    assert_eq!(forms.len(), different.len());
}

#[test]
fn invalid_url_has_no_canonical_form() {
    for address in ["", "example.com", "file:///etc/passwd", "javascript:alert(1)", "https://"] {
        assert_eq!(canonical(address), None, "{address}");
    }
}

/// Addresses with everything that an address can have.
fn parts() -> impl Strategy<Value = (String, String, String)> {
    let host = "[a-z0-9]{1,8}(\\.[a-z0-9]{1,8}){0,1}\\.[a-z]{2,8}(:[1-9][0-9]{3})?";
    let path = "(/[a-zA-Z0-9._~%-]{1,8}){0,3}";
    let query = "([a-z]{1,4}=[a-zA-Z0-9+%.]{0,6}(&[a-z]{1,4}=[a-z0-9]{0,4}){0,2})?";
    (host, path, query)
}

proptest! {
    #[test]
    fn canonical_form_is_idempotent((host, path, query) in parts()) {
        let query = if query.is_empty() { query } else { format!("?{query}") };
        if let Some(form) = canonical(&format!("https://{host}{path}{query}")) {
            prop_assert_eq!(canonical(&format!("https://{form}")), Some(form.clone()));
        }
    }

    #[test]
    fn irrelevant_changes_keep_the_canonical_form(
        (host, path, query) in parts(),
        fragment in "[a-z]{0,5}",
        tracked in "[a-z0-9]{0,5}",
    ) {
        let bare = if query.is_empty() { String::new() } else { format!("?{query}") };
        let and = if query.is_empty() { "?" } else { "&" };
        let plain = canonical(&format!("https://{host}{path}{bare}"));
        let dressed =
            format!("http://www.{host}{path}/{bare}{and}utm_term={tracked}#{fragment}");
        prop_assert_eq!(plain, canonical(&dressed));
    }

    #[test]
    fn any_url_is_canonicalised_without_panic(address in "\\PC{0,60}") {
        let _ = canonical(&address);
        let _ = canonical(&format!("https://{address}"));
    }
}
