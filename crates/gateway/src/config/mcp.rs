//! Who may speak to `/mcp` from a browser: `mcp`.

use http::Uri;
use http::uri::Authority;
use settings::Problem;

use super::MAX_ALLOWED;
use super::mapping::Mapping;

/// Who may speak to `/mcp`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mcp {
    /// Names by which this service is known besides that of `public_url`.
    pub allowed_hosts: Vec<String>,
    /// Sites whose pages may speak to it.
    pub allowed_origins: Vec<String>,
}

/// Reads `mcp`.
pub(super) fn mcp(root: &mut Mapping<'_, '_, '_>) -> Mcp {
    let Some(field) = root.take("mcp") else { return Mcp::default() };
    let Some(mut map) = Mapping::open(root.reader, "mcp", &field) else { return Mcp::default() };
    let mcp = Mcp {
        allowed_hosts: list(&mut map, "allowed_hosts", host, "a name such as `ai.example.com`"),
        allowed_origins: list(
            &mut map,
            "allowed_origins",
            origin,
            "a site such as `https://app.example.com`, without a path",
        ),
    };
    map.close();
    mcp
}

fn list(
    map: &mut Mapping<'_, '_, '_>,
    name: &str,
    read: fn(&str) -> Option<String>,
    wanted: &str,
) -> Vec<String> {
    let Some(field) = map.take(name) else { return Vec::new() };
    let texts = map.reader.strings(&field).unwrap_or_default();
    if texts.len() > MAX_ALLOWED {
        map.reader.refuse(&field, format!("has more than {MAX_ALLOWED} entries"));
        return Vec::new();
    }
    let mut known = Vec::new();
    for text in texts {
        if let Some(value) = read(text.trim()) {
            known.push(value);
            continue;
        }
        let shown: String = text.chars().take(100).collect();
        let problem = Problem::error(field.place, format!("`{shown}` is not {wanted}"));
        map.reader.report(&field.key, problem);
    }
    known
}

fn host(text: &str) -> Option<String> {
    let authority: Authority = text.parse().ok()?;
    (authority.host() == text && !text.is_empty()).then(|| text.to_ascii_lowercase())
}

fn origin(text: &str) -> Option<String> {
    let uri: Uri = text.parse().ok()?;
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
    (format!("{scheme}://{authority}") == text).then(|| text.to_owned())
}
