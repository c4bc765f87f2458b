//! Addresses of servers and of client documents.

use ::http::Uri;
use ::http::uri::Scheme;

pub(crate) fn fault_of_address(address: &str) -> Option<&'static str> {
    let Ok(uri) = address.parse::<Uri>() else { return Some("it is not a valid URL") };
    match uri.scheme() {
        None => return Some("it does not start with `http://` or `https://`"),
        Some(scheme) if *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS => {
            return Some("its scheme is not http or https");
        }
        Some(_) => {}
    }
    match uri.authority() {
        Some(authority) if !authority.host().is_empty() => None,
        _ => Some("it has no host"),
    }
}

/// What is wrong with the address of a self-hosted client document, if anything: it must be https
/// with a path, and without fragment, user information and dot segments.
pub fn fault_of_client_document(address: &str) -> Option<&'static str> {
    if address.contains('#') {
        return Some("it has a fragment");
    }
    if let Some(fault) = fault_of_address(address) {
        return Some(fault);
    }
    let uri = address.parse::<Uri>().ok()?;
    if uri.scheme() != Some(&Scheme::HTTPS) {
        return Some("it does not use https");
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Some("it has user information");
    }
    let is_dot = |segment: &str| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    };
    if uri.path().split('/').any(is_dot) {
        return Some("it has a `.` or `..` segment");
    }
    (uri.path().is_empty() || uri.path() == "/").then_some("it has no path")
}
