//! Canonical URLs, to recognise the same page.

use url::form_urlencoded::{Serializer, parse};
use url::{Host, Url};
use web_reader::normalized_path;

const TRACKING: &[&str] = &[
    "_ga", "_gl", "_hsenc", "_hsmi", "dclid", "fbclid", "gbraid", "gclid", "gclsrc", "igsh",
    "igshid", "mc_cid", "mc_eid", "mkt_tok", "msclkid", "oly_anon_id", "oly_enc_id", "ref_src",
    "ref_url", "srsltid", "ttclid", "twclid", "vero_id", "wbraid", "wickedid", "yclid", "ysclid",
];
const TRACKING_STARTS: &[&str] = &["utm_", "hsa_", "mtm_", "pk_", "piwik_"];

/// The canonical form of a URL, without scheme, `www.`, trailing slash, fragment and tracking
/// parameters. `None` if it is not the URL of a page.
pub(crate) fn canonical(address: &str) -> Option<String> {
    let url = page(address)?;
    let mut out = host(&url)?;
    if let Some(port) = url.port() {
        out.push_str(&format!(":{port}"));
    }
    out.push_str(normalized_path(url.path()).trim_end_matches('/'));
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

pub(super) fn page(address: &str) -> Option<Url> {
    let url = Url::parse(address.trim()).ok()?;
    let is_page = matches!(url.scheme(), "http" | "https") && url.host().is_some();
    is_page.then_some(url)
}

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

#[cfg(test)]
mod tests;
