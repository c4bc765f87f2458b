//! The pages that the browser shows after a login.
//!
//! They are complete documents without scripts or external resources, so they stay readable after
//! the listener is gone. All variable text is escaped.

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Response, StatusCode, Uri};
use http_body_util::Full;
use sha2::{Digest, Sha256};

use super::LoginOutcome;

const MAX_TEXT_CHARS: usize = 1_000;

static STYLE: LazyLock<String> = LazyLock::new(|| format!("{}{OWN_STYLE}", pages::BASE_STYLE.text));

const OWN_STYLE: &str = "\
body{display:grid;place-items:center;padding:1.5rem}\
main{width:100%;max-width:31rem;padding:2.5rem 2.25rem;background:var(--surface);\
border:1px solid var(--line);border-radius:var(--radius)}\
main svg{display:block;width:3rem;height:3rem;padding:.7rem;border-radius:50%;\
fill:none;stroke:currentColor;stroke-width:2.5;stroke-linecap:round;stroke-linejoin:round}\
.good svg{color:var(--good);background:var(--good-ground)}\
.bad svg{color:var(--bad);background:var(--bad-ground)}\
h1{margin:1.25rem 0 .5rem}\
p{margin:.5rem 0 0;color:var(--muted);overflow-wrap:anywhere}\
.said{margin:1rem 0;padding:.75rem 1rem;border-left:3px solid var(--bad);\
background:var(--raised);color:var(--text)}\
.said::first-letter{text-transform:uppercase}";

const CHECK: &str = "<path d=\"M4.5 12.5l5 5 10-11\"/>";
const BANG: &str = "<path d=\"M12 5v8.5M12 18.5v.01\"/>";

/// Content security policy: nothing may be loaded, and only our inline style applies.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = BASE64_STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    )
});

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page {
    status: StatusCode,
    location: Option<HeaderValue>,
    html: String,
}

pub(super) fn for_outcome(outcome: &LoginOutcome) -> Page {
    let close = "You can close this tab and go back to the terminal.";
    match outcome {
        LoginOutcome::SignedIn { server } => {
            page(StatusCode::OK, &format!("Signed in to {server}"), None, &[close])
        }
        LoginOutcome::Failed { server, what } => {
            let lines = ["See the terminal for the next steps.", close];
            let title = format!("Sign-in to {server} failed");
            page(StatusCode::BAD_REQUEST, &title, Some(what), &lines)
        }
        LoginOutcome::Continue { address } => redirect_to(address),
    }
}

pub(super) fn already_used() -> Page {
    let line = "A sign-in link works only once. Check the terminal for the result.";
    let title = "This sign-in link has already been used";
    page(StatusCode::BAD_REQUEST, title, None, &[line])
}

pub(super) fn unfinished() -> Page {
    let line = "Go back to the terminal to see the reason and try again.";
    page(StatusCode::BAD_REQUEST, "Sign-in not completed", None, &[line])
}

pub(super) fn not_found() -> Page {
    let line = "No sign-in is waiting for this page. It may have ended, or a new one has started.";
    page(StatusCode::NOT_FOUND, "Page not found", None, &[line])
}

fn redirect_to(address: &str) -> Page {
    let scheme = address.parse::<Uri>().ok().and_then(|uri| uri.scheme_str().map(str::to_owned));
    let is_web = matches!(scheme.as_deref(), Some("http" | "https"));
    match HeaderValue::from_str(address) {
        Ok(location) if is_web => {
            Page { status: StatusCode::FOUND, location: Some(location), html: String::new() }
        }
        _ => unfinished(),
    }
}

impl Page {
    pub(super) fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.html)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        for (name, value) in [
            (CONTENT_TYPE, "text/html; charset=utf-8"),
            (CACHE_CONTROL, "no-store"),
            (REFERRER_POLICY, "no-referrer"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if let Ok(policy) = HeaderValue::from_str(&POLICY) {
            headers.insert(CONTENT_SECURITY_POLICY, policy);
        }
        if let Some(location) = self.location {
            headers.insert(LOCATION, location);
        }
        response
    }
}

/// `said` is text from a peer.
fn page(status: StatusCode, title: &str, said: Option<&str>, lines: &[&str]) -> Page {
    let (class, mark) = if status.is_success() { ("good", CHECK) } else { ("bad", BANG) };
    let (title, style) = (escaped(title), STYLE.as_str());
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>{style}</style>\n</head>\n<body>\n<main class=\"{class}\">\n\
         <svg viewBox=\"0 0 24 24\" aria-hidden=\"true\">{mark}</svg>\n<h1>{title}</h1>\n"
    );
    if let Some(said) = said {
        html += &format!("<p class=\"said\">{}</p>\n", escaped(said));
    }
    for line in lines {
        html += &format!("<p>{}</p>\n", escaped(line));
    }
    html += "</main>\n</body>\n</html>\n";
    Page { status, location: None, html }
}

/// Escapes a text for HTML and bounds its length.
fn escaped(text: &str) -> String {
    let printable = |letter: char| if letter.is_control() { ' ' } else { letter };
    let text: String = text.chars().take(MAX_TEXT_CHARS).map(printable).collect();
    pages::escape(&text)
}

#[cfg(test)]
mod tests;
