//! The keys of a sign-in.

use ::http::uri::Scheme;
use ::http::{HeaderValue, Uri};

use settings::{Field, Problem, Seconds, Text, Value, Zero};

use super::super::{Flow, OauthOptions};
use super::http::fault_of_address;
use super::section::Section;
use super::server::Reader;
use crate::url::{LOOPBACK_HOSTS, is_secure};

/// How long a login waits unless told; only named in messages here.
const DEFAULT_LOGIN_SECONDS: u64 = 300;

const FLOWS: &[(&str, Flow)] = &[
    ("browser", Flow::Browser),
    ("client_credentials", Flow::ClientCredentials),
    ("workload", Flow::Workload),
    ("enterprise", Flow::Enterprise),
];

const AUTH_METHODS: &[&str] =
    &["none", "client_secret_basic", "client_secret_post", "private_key_jwt"];

impl Reader<'_> {
    /// The options of a sign-in; without any, all have their defaults.
    pub(super) fn oauth(&mut self, field: Option<Field<'_>>) -> OauthOptions {
        let Some(field) = field else { return OauthOptions::default() };
        let Value::Map(entries) = &field.node.value else {
            self.refuse(&field, format!("must be a mapping, found {}", field.node.kind()));
            return OauthOptions::default();
        };
        let mut section = Section::open(self, "oauth", entries);
        let options = OauthOptions {
            client_metadata_url: self.client_metadata_url(section.take("client_metadata_url")),
            cimd: section.take("cimd").map(|cimd| self.flag(Some(cimd), true)),
            user_agent: self.header_text(section.take("user_agent")),
            client_id: self.optional(section.take("client_id")),
            client_secret: self.secret("oauth.client_secret", section.take("client_secret")),
            client_name: self.optional(section.take("client_name")),
            token_endpoint_auth_method: self
                .auth_method(section.take("token_endpoint_auth_method")),
            redirect_uri: self.redirect_uri(section.take("redirect_uri")),
            redirect_port: self.port(section.take("redirect_port")),
            redirect_host: self.redirect_host(section.take("redirect_host")),
            scope: self.optional(section.take("scope")),
            timeout: section.take("timeout").map(|timeout| {
                let default = std::time::Duration::from_secs(DEFAULT_LOGIN_SECONDS);
                self.seconds(Some(timeout), &Seconds { default, zero: Zero::Refused })
            }),
            flow: section.take("flow").map_or(Flow::Browser, |flow| {
                self.word(&flow, FLOWS, ("a person signs in in a browser", Flow::Browser))
            }),
            private_key: self.optional_path(section.take("private_key")),
            assertion: self.secret("oauth.assertion", section.take("assertion")),
            assertion_file: self.optional_path(section.take("assertion_file")),
            idp_token_endpoint: self.safe_address(section.take("idp_token_endpoint")),
            idp_client_id: self.optional(section.take("idp_client_id")),
            idp_client_secret: self
                .secret("oauth.idp_client_secret", section.take("idp_client_secret")),
        };
        section.close(self);
        self.flow_has_what_it_needs(&field, &options);
        options
    }

    /// A sign-in without a person fails for what is missing; better now than then.
    fn flow_has_what_it_needs(&mut self, field: &Field<'_>, options: &OauthOptions) {
        let assertion = options.assertion.is_some() || options.assertion_file.is_some();
        let proof = options.client_secret.is_some() || options.private_key.is_some();
        let missing: Vec<&str> = match options.flow {
            Flow::Browser => return,
            Flow::ClientCredentials => vec![
                ("client_id", options.client_id.is_some()),
                ("client_secret` or `private_key", proof),
            ],
            Flow::Workload => vec![("assertion_file", assertion)],
            Flow::Enterprise => vec![
                ("client_id", options.client_id.is_some()),
                ("idp_token_endpoint", options.idp_token_endpoint.is_some()),
                ("assertion_file", assertion),
            ],
        }
        .into_iter()
        .filter(|(_, is_there)| !is_there)
        .map(|(key, _)| key)
        .collect();
        for key in missing {
            self.refuse(field, format!("this `flow` also needs `{key}`"));
        }
    }

    /// A text that is never shown, by the label that may be.
    fn secret(&mut self, label: &str, field: Option<Field<'_>>) -> Option<Text> {
        let text = self.optional(field)?;
        Some(self.secrets.whole(label, text))
    }

    fn optional_path(&mut self, field: Option<Field<'_>>) -> Option<Text> {
        let again = field.clone()?;
        let text = self.optional(field)?;
        Some(self.expand(&again, text))
    }

    /// How a client proves itself; a word nobody knows would only fail later.
    fn auth_method(&mut self, field: Option<Field<'_>>) -> Option<Text> {
        let again = field.clone()?;
        let text = self.optional(field)?;
        if !AUTH_METHODS.contains(&text.value().trim()) {
            let listed: Vec<_> = AUTH_METHODS.iter().map(|word| format!("`{word}`")).collect();
            self.warn(&again, format!("allowed are {}; it is ignored", listed.join(", ")));
            return None;
        }
        Some(text)
    }

    /// Where the browser comes back to: this machine, or an encrypted way to it.
    fn redirect_uri(&mut self, field: Option<Field<'_>>) -> Option<Text> {
        let again = field.clone()?;
        let text = self.optional(field)?;
        let value = text.value().trim();
        let is_safe = value.parse().is_ok_and(|uri: Uri| is_secure(&uri));
        if fault_of_address(value).is_some() || value.contains('#') || !is_safe {
            let message = "must be an https address, or an http address of this machine, without \
                           a fragment";
            self.refuse(&again, message);
            return None;
        }
        Some(text)
    }

    /// The code comes back in clear, so it must not leave this machine.
    fn redirect_host(&mut self, field: Option<Field<'_>>) -> Option<Text> {
        let again = field.clone()?;
        let text = self.optional(field)?;
        let host = text.value().trim();
        if !LOOPBACK_HOSTS.iter().any(|known| host.eq_ignore_ascii_case(known)) {
            let listed: Vec<_> = LOOPBACK_HOSTS.iter().map(|host| format!("`{host}`")).collect();
            let message = format!(
                "must be a name of this machine: {}; for a browser that comes back through a \
                 proxy, write its whole address, with https, as `redirect_uri`",
                listed.join(", ")
            );
            self.refuse(&again, message);
            return None;
        }
        Some(text)
    }

    /// An address that secrets are sent to.
    fn safe_address(&mut self, field: Option<Field<'_>>) -> Option<Text> {
        let again = field.clone()?;
        let text = self.optional(field)?;
        let is_safe = text.value().trim().parse().is_ok_and(|uri: Uri| is_secure(&uri));
        if !is_safe {
            self.refuse(&again, "must be an https address, or one of this machine");
            return None;
        }
        Some(text)
    }

    fn port(&mut self, field: Option<Field<'_>>) -> Option<u16> {
        let port = self.whole(field, 0..=u32::from(u16::MAX), 0);
        u16::try_from(port).ok().filter(|port| *port != 0)
    }

    /// A text that is sent in a header.
    fn header_text(&mut self, field: Option<Field<'_>>) -> Option<Text> {
        let (key, place) = field.as_ref().map(|field| (field.key.clone(), field.place))?;
        let text = self.optional(field)?;
        if HeaderValue::from_str(text.value()).is_err() {
            let message = "holds a character that a header cannot carry and is ignored";
            self.report(&key, Problem::warning(place, message));
            return None;
        }
        Some(text)
    }

    /// The address of a client document.
    pub(super) fn client_metadata_url(&mut self, field: Option<Field<'_>>) -> Option<Text> {
        let (key, place) = field.as_ref().map(|field| (field.key.clone(), field.place))?;
        let text = self.optional(field)?;
        let text = self.secrets.embedded(text);
        if let Some(why) = fault_of_client_document(text.value()) {
            let message = format!("cannot be the address of a client document: {why}");
            self.report(&key, Problem::error(place, message));
            return None;
        }
        Some(text)
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
        return Some("it is not https");
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
