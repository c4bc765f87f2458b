//! Canonical addresses, to recognise the same page.

use url::form_urlencoded::{Serializer, parse};
use url::{Host, Url};

/// Tracking parameters.
const TRACKING: &[&str] = &[
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "dclid",
    "fbclid",
    "gbraid",
    "gclid",
    "gclsrc",
    "igsh",
    "igshid",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "msclkid",
    "oly_anon_id",
    "oly_enc_id",
    "ref_src",
    "ref_url",
    "srsltid",
    "ttclid",
    "twclid",
    "vero_id",
    "wbraid",
    "wickedid",
    "yclid",
    "ysclid",
];
/// Prefixes of tracking parameters.
const TRACKING_STARTS: &[&str] = &["utm_", "hsa_", "mtm_", "pk_", "piwik_"];

/// The canonical form of an address, without scheme, `www.`, trailing slash, fragment and tracking
/// parameters. `None` if it is not the address of a page.
pub(crate) fn canonical(address: &str) -> Option<String> {
    let url = page(address)?;
    let mut out = host(&url)?;
    if let Some(port) = url.port() {
        out.push_str(&format!(":{port}"));
    }
    out.push_str(plain_path(url.path()).trim_end_matches('/'));
    let mut pairs: Vec<(String, String)> = parse(url.query().unwrap_or_default().as_bytes())
        .filter(|(name, _)| !is_tracking(name))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    if !pairs.is_empty() {
        // Stable, to keep the order of values of one name.
        pairs.sort_by(|left, right| left.0.cmp(&right.0));
        out.push('?');
        out.push_str(&Serializer::new(String::new()).extend_pairs(pairs).finish());
    }
    // Some sites identify pages by the fragment.
    if let Some(fragment) = url.fragment().filter(|fragment| fragment.starts_with('!')) {
        out.push('#');
        out.push_str(fragment);
    }
    Some(out)
}

/// Parses the address of a web page.
pub(super) fn page(address: &str) -> Option<Url> {
    let url = Url::parse(address.trim()).ok()?;
    let is_page = matches!(url.scheme(), "http" | "https") && url.host().is_some();
    is_page.then_some(url)
}

/// The host of a page, without `www.`.
pub(super) fn host(url: &Url) -> Option<String> {
    let Some(Host::Domain(name)) = url.host() else { return Some(url.host_str()?.to_owned()) };
    let mut name = name.trim_end_matches('.');
    while let Some(rest) = name.strip_prefix("www.").filter(|rest| rest.contains('.')) {
        name = rest;
    }
    Some(name.to_owned())
}

fn is_tracking(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TRACKING.contains(&name.as_str()) || TRACKING_STARTS.iter().any(|start| name.starts_with(start))
}

/// A path with normalized percent-encoding.
fn plain_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(start) = rest.find('%') {
        out.push_str(rest.get(..start).unwrap_or_default());
        let tail = rest.get(start..).unwrap_or_default();
        let code = tail.get(1..3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                out.push(char::from(byte));
                rest = tail.get(3..).unwrap_or_default();
            }
            Some(byte) => {
                out.push_str(&format!("%{byte:02X}"));
                rest = tail.get(3..).unwrap_or_default();
            }
            None => {
                out.push('%');
                rest = tail.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equivalent_addresses_have_the_same_form() {
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
    fn different_pages_have_different_forms() {
        let different = [
            "https://example.com/a",
            "https://example.com/A",
            "https://sub.example.com/a",
            "https://example.com:8443/a",
            "https://example.com/a?x=1",
            "https://example.com/a?x=2",
            "https://example.com/a#!/one",
            "https://example.com/a%2Fb",
            "https://example.com/a/b",
            "https://www.com/a",
        ];
        let mut forms: Vec<String> = different.iter().filter_map(|url| canonical(url)).collect();
        forms.sort();
        forms.dedup();
        assert_eq!(forms.len(), different.len());
    }

    #[test]
    fn invalid_address_has_no_form() {
        for address in ["", "example.com", "file:///etc/passwd", "javascript:alert(1)", "https://"]
        {
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
        fn irrelevant_changes_keep_the_form(
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
        fn nothing_makes_it_panic(address in "\\PC{0,60}") {
            let _ = canonical(&address);
            let _ = canonical(&format!("https://{address}"));
        }
    }
}
