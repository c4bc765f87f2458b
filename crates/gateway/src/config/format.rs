//! Readers of `gateway.yaml` values with a custom format.

use std::net::SocketAddr;

use gateway_store::Calendar;
use http::Uri;
use http::uri::Authority;
use lettre::message::Mailbox;
use serde_json::Value as Json;
use settings::{Field, Format, Reader, Value, text_value};

use super::address::{self, Fault};
use super::fetch::{network, parse_private};
use super::secret::warn_of_plain_text;
use super::{DEFAULT_LISTEN, store};

const MAX_AGENT: usize = 256;
/// Longest model id, in bytes.
const MAX_ID: usize = 256;

pub(super) const FORMATS: &[Format] = &[
    ("address", |reader, _, field| address(reader, field).map(|uri| uri.to_string().into())),
    ("alias-name", |reader, _, field| {
        name(reader, field, "an alias", (128, "._-/:*?", " and the characters `._-/:*?`"))
    }),
    ("artifacts", store::artifacts_format),
    ("database", store::database_format),
    ("header", header),
    ("health-path", health_path),
    ("host", |reader, _, field| {
        entry(reader, field, "a host name such as `ai.example.com`", |text| {
            let authority: Authority = text.parse().ok()?;
            (authority.host() == text && !text.is_empty()).then(|| text.to_ascii_lowercase())
        })
    }),
    ("listen", listen),
    // An e-mail address, optionally with a name.
    ("mailbox", |reader, _, field| {
        let wanted = "an e-mail address such as `Gateway <gateway@example.com>`";
        entry(reader, field, wanted, |text| Some(text.parse::<Mailbox>().ok()?.to_string()))
    }),
    ("micros", micros),
    ("model-id", model_id),
    ("network", |reader, _, field| {
        let wanted = "an IP address or a network such as `10.0.0.0/8`";
        entry(reader, field, wanted, |text| network(text).map(|network| network.to_string()))
    }),
    ("origin", |reader, _, field| {
        let wanted = "an origin such as `https://app.example.com`, without a path";
        entry(reader, field, wanted, |text| {
            let uri: Uri = text.parse().ok()?;
            let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
            (format!("{scheme}://{authority}") == text).then(|| text.to_owned())
        })
    }),
    ("port", port),
    ("private", private),
    // A name is what comes before the first `/` of an id.
    ("provider-name", |reader, _, field| {
        name(reader, field, "a provider", (64, "._-", ", dots, underscores and hyphens"))
    }),
    ("public-url", public_url),
    ("secret", secret),
    ("time-zone", time_zone),
    ("user-agent", user_agent),
];

/// An http or https address, without a trailing slash.
fn address(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Uri> {
    let text = reader.string(field, "an http or https URL")?;
    match address::parse(text.value().trim()) {
        Ok(uri) => Some(uri),
        Err(Fault(message, hint)) => reader.refuse_hinted(field, message, hint),
    }
}

fn public_url(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let uri = address(reader, field)?;
    if uri.path() != "/" {
        let hint = "remove the path; clients append `/v1` and `/mcp`";
        return reader.refuse_hinted(field, "must not have a path", hint);
    }
    if address::is_open(&uri) {
        let message =
            "must be an https URL unless the host is this machine: keys would be sent unencrypted";
        let hint = "put a TLS reverse proxy in front of the service";
        return reader.refuse_hinted(field, message, hint);
    }
    Some(uri.to_string().into())
}

fn listen(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let wanted = format!("an IP address and a port, such as `{DEFAULT_LISTEN}`");
    let text = reader.string(field, &wanted)?;
    if let Ok(address) = text.value().trim().parse::<SocketAddr>() {
        return Some(address.to_string().into());
    }
    let hint = match text.shown().trim().rsplit_once(':') {
        Some(("", port)) => format!("write `0.0.0.0:{port}` to listen on all addresses"),
        Some(("localhost", port)) => format!("write `127.0.0.1:{port}`"),
        _ => "host names are not resolved here; for IPv6, write `[::1]:8930`".to_owned(),
    };
    reader.refuse_hinted(field, format!("must be {wanted}"), hint.as_str())
}

/// A secret; warns if it is written literally in the file.
fn secret(reader: &mut Reader<'_>, schema: &Json, field: &Field<'_>) -> Option<Json> {
    let text = reader.string(field, "a string, preferably a reference such as `${NAME}`")?;
    let value = text.value().trim().to_owned();
    if let Some(least) = schema["minLength"].as_u64()
        && (value.chars().count() as u64) < least
    {
        let message = format!("must be at least {least} characters long");
        return reader.refuse_hinted(field, message, "create one with `openssl rand -hex 32`");
    }
    if !value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
        return reader.refuse(field, "must contain only printable ASCII characters");
    }
    warn_of_plain_text(reader, (&field.key, field.position), &text);
    reader.secrets.whole(&field.key, text);
    Some(value.into())
}

/// The value of a header; its name decides whether it is a secret.
fn header(reader: &mut Reader<'_>, schema: &Json, field: &Field<'_>) -> Option<Json> {
    let text = reader.string_like(field)?;
    let name = field.key.rsplit_once(".headers.").map_or(field.key.as_str(), |(_, name)| name);
    let text = reader.secrets.named(name, text);
    Some(text_value(schema, text))
}

/// A price in whole micro-credits.
fn micros(reader: &mut Reader<'_>, schema: &Json, field: &Field<'_>) -> Option<Json> {
    // The spelling decides, so that a fraction or a sign is reported as such.
    if let Value::Number(value, written) = &field.node.value
        && (*value < 0.0 || value.fract() != 0.0)
    {
        let message =
            format!("must be a whole number of micro-credits, at least 0, found `{written}`");
        return reader.refuse_hinted(field, message, "1 credit is 1000000 micro-credits");
    }
    reader.by_type(schema, field)
}

/// An entry of a list; problems are reported for the list. The text may be the value of a
/// variable, so it is not quoted.
fn entry(
    reader: &mut Reader<'_>,
    field: &Field<'_>,
    wanted: &str,
    read: impl Fn(&str) -> Option<String>,
) -> Option<Json> {
    let text = reader.string_like(field)?;
    match read(text.value().trim()) {
        Some(value) => Some(value.into()),
        None => reader.refuse(field, format!("entry {} is not {wanted}", field.entry.max(1))),
    }
}

fn port(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let text = reader.string_like(field)?;
    let port = text.value().trim().parse::<u16>().unwrap_or_default();
    reader.accept(field, port, port > 0, "must be a list of ports, each from 1 to 65535")
}

fn private(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let text = reader.string_like(field)?;
    let value = text.value().trim();
    if parse_private(value).is_some() {
        return Some(value.into());
    }
    let shown: String = text.shown().chars().take(100).collect();
    let hint = "write `wiki.internal`, `wiki.internal:8080`, `10.1.2.0/24` or `[fd00::1]`";
    reader.refuse_hinted(field, format!("`{shown}` is not a host or a network"), hint)
}

fn user_agent(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let text = reader.string(field, "a `User-Agent` value")?;
    let value = text.value().trim();
    let token = value.split(['/', ' ']).next().unwrap_or_default();
    let is_token = !token.is_empty()
        && token.bytes().all(|byte| byte.is_ascii_alphabetic() || b"-_".contains(&byte));
    let is_line = value.len() <= MAX_AGENT
        && value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    if is_token && is_line {
        return Some(value.into());
    }
    let message = format!(
        "must be at most {MAX_AGENT} printable ASCII characters and start with a name of letters, \
         `-` and `_` that robots.txt rules can match"
    );
    reader.refuse_hinted(field, message, "for example `example-reader/1.0`")
}

/// The IANA name of a time zone.
fn time_zone(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let wanted = "the IANA name of a time zone, such as `Europe/Berlin`";
    let text = reader.string(field, wanted)?;
    let name = text.value().trim();
    let is_known = Calendar::parse(name).is_some();
    reader.accept(field, name.to_owned(), is_known, format!("must be {wanted}"))
}

fn health_path(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let text = reader.string(field, "a path such as `/models`")?;
    let path = text.value().trim();
    let is_path = path.starts_with('/') && path.parse::<Uri>().is_ok();
    let message = "must be a path that starts with `/`, such as `/models`";
    reader.accept(field, path, is_path, message)
}

fn name(
    reader: &mut Reader<'_>,
    field: &Field<'_>,
    what: &str,
    (most, punctuation, words): (usize, &str, &str),
) -> Option<Json> {
    let Value::String(name) = &field.node.value else { return None };
    let is_name = (1..=most).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || punctuation.contains(c));
    let message = format!("the name of {what} must be 1 to {most} letters, digits{words}");
    reader.accept(field, name.as_str(), is_name, message)
}

/// The id of a model is part of addresses, price lists and logs.
fn model_id(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let Some(text) = reader.scalar(field) else {
        let kind = field.node.kind();
        return reader.refuse(field, format!("must be a model id, found {kind}"));
    };
    let id = text.value().trim();
    let is_id = (1..=MAX_ID).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_graphic() && !b"*?\"\\".contains(&byte));
    let message = format!(
        "a model id must be 1 to {MAX_ID} printable ASCII characters without spaces, quotes, `*` \
         and `?`"
    );
    reader.accept(field, id, is_id, message)
}
