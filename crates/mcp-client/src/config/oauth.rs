//! The options of a sign-in: `oauth`.

use std::time::Duration;

use ::http::{HeaderValue, Uri};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;
use settings::{Field, Format, Reader, Seconds, Text, section};

use crate::url::{LOOPBACK_HOSTS, fault_of_address, fault_of_client_document, is_secure};

const AUTH_METHODS: &[&str] =
    &["none", "client_secret_basic", "client_secret_post", "private_key_jwt"];

section! {
    /// Options of `auth: oauth`. All are optional; an empty string counts as unset.
    #[derive(PartialEq)]
    pub struct OauthOptions {
        /// URL of a self-hosted client document: https, with a path, without fragment, user
        /// information or dot segments.
        #[schemars(extend("format" = "client-document", "x-optional" = true))]
        pub client_metadata_url: Option<Text>,
        /// `false` registers a client dynamically instead of sending the URL of the client
        /// document.
        #[schemars(extend("default" = true))]
        pub cimd: Option<bool>,
        /// User-Agent header of requests to the token endpoint only.
        #[schemars(extend("format" = "header-text", "x-optional" = true))]
        pub user_agent: Option<Text>,
        /// ID of a pre-registered client.
        #[schemars(extend("x-optional" = true))]
        pub client_id: Option<Text>,
        /// Secret of that client.
        #[schemars(extend("format" = "secret", "x-optional" = true))]
        pub client_secret: Option<Text>,
        /// Client name to register.
        #[schemars(extend("x-optional" = true))]
        pub client_name: Option<Text>,
        /// How the client authenticates at the token endpoint: `none`, `client_secret_basic`,
        /// `client_secret_post` or `private_key_jwt`.
        #[schemars(extend("format" = "auth-method", "x-optional" = true))]
        pub token_endpoint_auth_method: Option<Text>,
        /// Full redirect URL, for example that of a proxy.
        #[schemars(extend("format" = "redirect-uri", "x-optional" = true))]
        pub redirect_uri: Option<Text>,
        /// Port of the loopback redirect; 0 picks a free one.
        #[serde(deserialize_with = "port")]
        #[schemars(with = "u16", range(min = 0, max = u16::MAX), extend("default" = 0))]
        pub redirect_port: Option<u16>,
        /// Host of the loopback redirect: `127.0.0.1`, `localhost` or `[::1]`.
        #[schemars(extend("format" = "redirect-host", "x-optional" = true))]
        #[schemars(extend("default" = "127.0.0.1"))]
        pub redirect_host: Option<Text>,
        /// Scopes to request, separated by spaces.
        #[schemars(extend("x-optional" = true))]
        pub scope: Option<Text>,
        /// Seconds to wait for the browser during a login.
        #[schemars(extend("default" = 300))]
        pub timeout: Option<Duration> as "Seconds",
        /// `browser`: the user signs in. Unattended: `client_credentials`, with the client's own
        /// secret or key; `workload`, with an assertion that the platform issues to the program;
        /// `enterprise`, with an identity token that an identity provider exchanges.
        #[schemars(extend("x-otherwise" = ["browser", "the user signs in with a browser"]))]
        pub flow: Flow,
        /// PEM file of the private key for client authentication.
        #[schemars(extend("format" = "path", "x-optional" = true))]
        pub private_key: Option<Text>,
        /// File with the workload assertion or the identity token; read again on every use.
        #[schemars(extend("format" = "path", "x-optional" = true))]
        pub assertion_file: Option<Text>,
        /// The assertion or token itself, preferably as a variable reference.
        #[schemars(extend("format" = "secret", "x-optional" = true))]
        pub assertion: Option<Text>,
        /// Token endpoint of the identity provider.
        #[schemars(extend("format" = "safe-address", "x-optional" = true))]
        pub idp_token_endpoint: Option<Text>,
        /// Client ID at the identity provider.
        #[schemars(extend("x-optional" = true))]
        pub idp_client_id: Option<Text>,
        /// Secret of that client.
        #[schemars(extend("format" = "secret", "x-optional" = true))]
        pub idp_client_secret: Option<Text>,
    }
}

/// Who signs in, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Flow {
    /// A person, in a browser.
    #[default]
    Browser,
    /// The program itself, with its own secret or key.
    ClientCredentials,
    /// The program, with a statement of its surroundings about it (RFC 7523).
    Workload,
    /// A person that an identity provider vouches for.
    Enterprise,
}

fn port<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u16>, D::Error> {
    Ok(Some(u16::deserialize(deserializer)?).filter(|port| *port != 0))
}

pub(super) const FORMATS: &[Format] = &[
    ("auth-method", auth_method),
    ("client-document", client_document),
    ("header-text", header_text),
    ("redirect-host", redirect_host),
    ("redirect-uri", redirect_uri),
    ("safe-address", safe_address),
    ("secret", secret),
];

impl OauthOptions {
    /// A sign-in without a person fails if a setting is missing: report that early.
    pub(super) fn check_flow(&self, reader: &mut Reader<'_>) {
        let assertion = self.assertion.is_some() || self.assertion_file.is_some();
        let proof = self.client_secret.is_some() || self.private_key.is_some();
        let client_id = ("client_id", self.client_id.is_some());
        let needed = match self.flow {
            Flow::Browser => vec![],
            Flow::ClientCredentials => vec![client_id, ("client_secret` or `private_key", proof)],
            Flow::Workload => vec![("assertion_file", assertion)],
            Flow::Enterprise => vec![
                client_id,
                ("idp_token_endpoint", self.idp_token_endpoint.is_some()),
                ("assertion_file", assertion),
            ],
        };
        for (key, _) in needed.iter().filter(|(_, is_there)| !is_there) {
            let message = format!("this `flow` also requires `{key}`");
            reader.refuse_key("oauth", message, None);
        }
    }
}

/// A text that is never shown; its key may be.
fn secret(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let text = reader.optional(field)?;
    Some(reader.secrets.whole(&field.key, text).into())
}

/// An unknown word would only fail later.
fn auth_method(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let text = reader.optional(field)?;
    if AUTH_METHODS.contains(&text.value().trim()) {
        return Some(text.into());
    }
    let listed: Vec<_> = AUTH_METHODS.iter().map(|word| format!("`{word}`")).collect();
    reader.warn(field, format!("must be one of {}; the value is ignored", listed.join(", ")));
    None
}

/// The redirect target: this machine, or an https URL.
fn redirect_uri(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let text = reader.optional(field)?;
    let value = text.value().trim();
    let is_safe = value.parse().is_ok_and(|uri: Uri| is_secure(&uri));
    let is_good = fault_of_address(value).is_none() && !value.contains('#') && is_safe;
    let message = "must be an https URL, or an http URL of this machine, without a fragment";
    reader.accept(field, text, is_good, message)
}

/// The code is sent unencrypted, so it must not leave this machine.
fn redirect_host(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let text = reader.optional(field)?;
    let host = text.value().trim();
    let is_local = LOOPBACK_HOSTS.iter().any(|known| host.eq_ignore_ascii_case(known));
    let listed: Vec<_> = LOOPBACK_HOSTS.iter().map(|host| format!("`{host}`")).collect();
    let message = format!(
        "must be a loopback host: {}; for a redirect through a proxy, set `redirect_uri` to the \
         full https URL",
        listed.join(", ")
    );
    reader.accept(field, text, is_local, message)
}

fn safe_address(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let text = reader.optional(field)?;
    let is_safe = text.value().trim().parse().is_ok_and(|uri: Uri| is_secure(&uri));
    reader.accept(field, text, is_safe, "must be an https URL, or an http URL of this machine")
}

fn header_text(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let text = reader.optional(field)?;
    if HeaderValue::from_str(text.value()).is_ok() {
        return Some(text.into());
    }
    reader
        .warn(field, "contains a character that is not allowed in a header; the value is ignored");
    None
}

fn client_document(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let text = reader.optional(field)?;
    let text = reader.secrets.embedded(text);
    let Some(why) = fault_of_client_document(text.value()) else { return Some(text.into()) };
    reader.refuse(field, format!("is not a valid URL of a client document: {why}"))
}
