//! Who may speak to `/mcp` from a browser: `mcp`.

use http::Uri;
use http::uri::Authority;

use super::mapping::{self, Mapping};

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
    let field = map.take(name);
    field.map(|field| mapping::list(map.reader, &field, read, wanted)).unwrap_or_default()
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
