//! Discovery of the authorization server of an MCP server, and of its metadata.

use http::Uri;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::challenge::Challenge;
use super::dpop;
use super::metadata::{
    ResourceMetadata, ServerMetadata, canonical, covers, resource_addresses, server_addresses,
};
use super::oauth_http::{HttpReply, MetadataOwner, OAuthHttp, one_line_excerpt, secure_address};
use crate::error::oauth::{Error, Result};
use crate::protocol::LEGACY_VERSIONS;
use crate::url::{enters_private_network, origin};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Discovery {
    /// The `resource` parameter of token requests.
    pub(crate) resource: String,
    /// The scopes that the MCP server needs for its basic functions.
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) issuers: Vec<String>,
    pub(crate) server: ServerMetadata,
    /// Tokens are bound to a key (`DPoP`).
    pub(crate) bind: bool,
}

/// Tries all locations of both standards, in their order. If the server trusts several issuers, the
/// preferred one is selected.
pub(crate) async fn discover(
    http: &OAuthHttp,
    challenges: &[Challenge],
    preferred: Option<&str>,
) -> Result<Discovery> {
    let Some(resource) = resource(http, challenges).await? else {
        return without_resource(http).await;
    };
    let issuers = resource.authorization_servers;
    let preferred = preferred.filter(|wanted| issuers.iter().any(|issuer| issuer == wanted));
    let issuer = preferred.or(issuers.first().map(String::as_str)).unwrap_or_default();
    tracing::debug!(issuer, ?issuers, "authorization server found");
    let server = server(http, issuer).await?;
    let offers_binding = challenges.iter().any(|challenge| challenge.scheme() == "dpop");
    let bind = (offers_binding || resource.supports_dpop)
        && server.dpop_algorithms.iter().any(|known| known == dpop::ALGORITHM);
    Ok(Discovery {
        resource: resource.resource.unwrap_or_else(|| canonical(http.server())),
        scopes: resource.scopes_supported,
        server,
        issuers,
        bind,
    })
}

/// The current issuers; `None` if they cannot be determined.
pub(crate) async fn issuers(http: &OAuthHttp, challenges: &[Challenge]) -> Option<Vec<String>> {
    resource(http, challenges).await.ok().flatten().map(|metadata| metadata.authorization_servers)
}

async fn resource(http: &OAuthHttp, challenges: &[Challenge]) -> Result<Option<ResourceMetadata>> {
    let named = challenges.iter().find_map(|one| one.param("resource_metadata"));
    let places = match named {
        Some(place) => vec![checked(http.server(), place)?],
        None => resource_addresses(http.server()),
    };
    for place in places {
        let reply = http.get(MetadataOwner::Resource, &place).await?;
        let Some(document) = document(&reply)? else {
            if named.is_some() {
                let status = format!("HTTP status {}", reply.status);
                let reason = if reply.is_success() { "invalid JSON".to_owned() } else { status };
                return Err(unusable(&place, reason));
            }
            continue;
        };
        let metadata = ResourceMetadata::read(&document);
        if let Some(found) = &metadata.resource
            && !covers(found, http.server())
        {
            return Err(Error::WrongResource { url: place, found: one_line_excerpt(found) });
        }
        if metadata.authorization_servers.is_empty() {
            return Err(unusable(&place, "it names no authorization server"));
        }
        return Ok(Some(metadata));
    }
    Ok(None)
}

/// Rejects a metadata URL that leads from a public server into a private network.
fn checked(server: &Uri, place: &str) -> Result<String> {
    let uri = secure_address("the metadata URL", place)?;
    if enters_private_network(server, &uri) {
        return Err(unusable(place, "a public server names a private address"));
    }
    Ok(place.to_owned())
}

async fn server(http: &OAuthHttp, issuer: &str) -> Result<ServerMetadata> {
    let uri = secure_address("the authorization server", issuer)?;
    if enters_private_network(http.server(), &uri) {
        return Err(unusable(issuer, "a public server names a private authorization server"));
    }
    let mut wrong = None;
    for place in server_addresses(&uri) {
        let reply = http.get(MetadataOwner::Issuer { version: None }, &place).await?;
        let Some(document) = document(&reply)? else { continue };
        match read(&document, &place)? {
            metadata if metadata.issuer == issuer => return Ok(metadata),
            metadata => wrong = wrong.or(Some((place, metadata.issuer))),
        }
    }
    Err(match wrong {
        Some((url, found)) => {
            Error::WrongIssuer { url, found: one_line_excerpt(&found), expected: issuer.to_owned() }
        }
        None => unusable(issuer, "no metadata found at the well-known URLs"),
    })
}

/// A server of revision 2025-03-26 is its own authorization server.
async fn without_resource(http: &OAuthHttp) -> Result<Discovery> {
    let origin = origin(http.server());
    let place = format!("{origin}/.well-known/oauth-authorization-server");
    let about = MetadataOwner::Issuer { version: Some(LEGACY_VERSIONS[0]) };
    let reply = http.get(about, &place).await?;
    let server = if let Some(document) = document(&reply)? {
        let metadata = read(&document, &place)?;
        // Many servers write their origin with a trailing slash.
        if metadata.issuer.trim_end_matches('/') != origin {
            let found = one_line_excerpt(&metadata.issuer);
            return Err(Error::WrongIssuer { url: place, found, expected: origin });
        }
        metadata
    } else {
        secure_address("the server", &origin)?;
        ServerMetadata::guess(&origin)
    };
    let resource = canonical(http.server());
    let issuers = vec![server.issuer.clone()];
    Ok(Discovery { resource, scopes: None, issuers, server, bind: false })
}

fn read(document: &Map<String, Value>, place: &str) -> Result<ServerMetadata> {
    let bad = |reason: &str| Error::Malformed { url: place.to_owned(), reason: reason.to_owned() };
    let metadata = ServerMetadata::read(document).map_err(bad)?;
    let endpoints = [
        ("the authorization endpoint", metadata.authorization_endpoint.as_deref()),
        ("the token endpoint", Some(metadata.token_endpoint.as_str())),
        ("the registration endpoint", metadata.registration_endpoint.as_deref()),
        ("the device authorization endpoint", metadata.device_authorization_endpoint.as_deref()),
        ("the revocation endpoint", metadata.revocation_endpoint.as_deref()),
    ];
    for (what, endpoint) in endpoints {
        let Some(endpoint) = endpoint.map(|endpoint| secure_address(what, endpoint)).transpose()?
        else {
            continue;
        };
        if place.parse().is_ok_and(|place| enters_private_network(&place, &endpoint)) {
            return Err(unusable(place, format!("{what} is a private address")));
        }
    }
    Ok(metadata)
}

fn unusable(url: &str, reason: impl Into<String>) -> Error {
    Error::Discovery { url: one_line_excerpt(url), reason: reason.into() }
}

fn document(reply: &HttpReply) -> Result<Option<Map<String, Value>>> {
    if let Some(unavailable) = reply.unavailable() {
        return Err(unavailable);
    }
    // Some servers answer every path with their start page.
    Ok(reply.object().filter(|_| reply.is_success()))
}
