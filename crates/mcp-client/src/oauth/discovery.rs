//! Finds out who issues tokens for a server, and what that authorization server can do.

use http::Uri;
use serde_json::{Map, Value, json};

use super::challenge::Challenge;
use super::dpop;
use super::metadata::{
    ResourceMetadata, ServerMetadata, canonical, covers, resource_addresses, server_addresses,
};
use super::scope::OfferedScopes;
use super::wire::{About, Reply, Wire, address, quoted};
use crate::error::oauth::Error;
use crate::protocol::LEGACY_VERSIONS;
use crate::url::{leads_inside, origin};

/// What is known of how to sign in to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// The name of the server in token requests.
    pub(crate) resource: String,
    /// The scopes its basic functions need.
    pub(crate) scopes: Option<Vec<String>>,
    /// Everybody who may issue tokens for it.
    pub(crate) issuers: Vec<String>,
    /// The one that is used.
    pub(crate) server: ServerMetadata,
    /// Tokens are bound to a key.
    pub(crate) bind: bool,
}

/// What the server said when it refused us.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hints<'a> {
    /// Its challenges.
    pub(crate) challenges: &'a [Challenge],
    /// An issuer that is taken if the server trusts several.
    pub(crate) prefer: Option<&'a str>,
}

impl Hints<'_> {
    fn resource_metadata(&self) -> Option<&str> {
        self.challenges.iter().find_map(|challenge| challenge.param("resource_metadata"))
    }

    fn offers_binding(&self) -> bool {
        self.challenges.iter().any(|challenge| challenge.scheme() == "dpop")
    }
}

/// Looks everywhere the two standards allow, in their order.
pub(crate) async fn discover(wire: &Wire, hints: Hints<'_>) -> Result<Found, Error> {
    let Some(resource) = resource(wire, hints).await? else {
        return without_resource(wire).await;
    };
    let issuers = resource.authorization_servers;
    let preferred = hints.prefer.filter(|wanted| issuers.iter().any(|issuer| issuer == wanted));
    let issuer = preferred.or(issuers.first().map(String::as_str)).unwrap_or_default();
    let server = server(wire, issuer).await?;
    let bind = (hints.offers_binding() || resource.binds_tokens)
        && server.dpop_algorithms.iter().any(|known| known == dpop::ALGORITHM);
    Ok(Found {
        resource: resource.resource.unwrap_or_else(|| canonical(wire.server())),
        scopes: resource.scopes_supported,
        server,
        issuers,
        bind,
    })
}

/// Who issues tokens for the server now; nothing if that cannot be learned.
pub(crate) async fn issuers(wire: &Wire, hints: Hints<'_>) -> Option<Vec<String>> {
    resource(wire, hints).await.ok().flatten().map(|metadata| metadata.authorization_servers)
}

/// What the server says about itself; nothing if it says nothing.
async fn resource(wire: &Wire, hints: Hints<'_>) -> Result<Option<ResourceMetadata>, Error> {
    let named = hints.resource_metadata();
    let places = match named {
        Some(place) => vec![checked(wire.server(), place)?],
        None => resource_addresses(wire.server()),
    };
    for place in places {
        let reply = wire.get(About::Resource, &place).await?;
        let Some(document) = document(&reply)? else {
            if named.is_some() {
                let reason = if reply.is_success() {
                    "it is no JSON document".to_owned()
                } else {
                    format!("HTTP status {}", reply.status)
                };
                return Err(Error::Discovery { url: place, reason });
            }
            continue;
        };
        let metadata = ResourceMetadata::read(&document);
        if let Some(found) = &metadata.resource
            && !covers(found, wire.server())
        {
            return Err(Error::WrongResource { url: place, found: quoted(found) });
        }
        if metadata.authorization_servers.is_empty() {
            let reason = "it names no authorization server".to_owned();
            return Err(Error::Discovery { url: place, reason });
        }
        return Ok(Some(metadata));
    }
    Ok(None)
}

/// An address that a server named for its metadata.
fn checked(server: &Uri, place: &str) -> Result<String, Error> {
    let uri = address("the address of the server's metadata", place)?;
    if leads_inside(server, &uri) {
        let reason = "a public server names a private address".to_owned();
        return Err(Error::Discovery { url: quoted(place), reason });
    }
    Ok(place.to_owned())
}

async fn server(wire: &Wire, issuer: &str) -> Result<ServerMetadata, Error> {
    let uri = address("the authorization server", issuer)?;
    if leads_inside(wire.server(), &uri) {
        let reason = "a public server names a private authorization server".to_owned();
        return Err(Error::Discovery { url: quoted(issuer), reason });
    }
    let mut wrong = None;
    for place in server_addresses(&uri) {
        let reply = wire.get(About::Issuer { version: None }, &place).await?;
        let Some(document) = document(&reply)? else { continue };
        match read(&document, &place)? {
            metadata if metadata.issuer == issuer => return Ok(metadata),
            metadata => wrong = wrong.or(Some((place, metadata.issuer))),
        }
    }
    Err(match wrong {
        Some((url, found)) => {
            Error::WrongIssuer { url, found: quoted(&found), expected: issuer.to_owned() }
        }
        None => Error::Discovery {
            url: issuer.to_owned(),
            reason: "it publishes no metadata at any of the usual places".to_owned(),
        },
    })
}

/// A server of revision 2025-03-26: it is its own authorization server.
async fn without_resource(wire: &Wire) -> Result<Found, Error> {
    let origin = origin(wire.server());
    let place = format!("{origin}/.well-known/oauth-authorization-server");
    let about = About::Issuer { version: Some(LEGACY_VERSIONS[0]) };
    let reply = wire.get(about, &place).await?;
    let server = if let Some(document) = document(&reply)? {
        let metadata = read(&document, &place)?;
        // The slash at the end is what many write for an origin.
        if metadata.issuer.trim_end_matches('/') != origin {
            let found = quoted(&metadata.issuer);
            return Err(Error::WrongIssuer { url: place, found, expected: origin });
        }
        metadata
    } else {
        address("the server", &origin)?;
        ServerMetadata::guess(&origin)
    };
    let resource = canonical(wire.server());
    let issuers = vec![server.issuer.clone()];
    Ok(Found { resource, scopes: None, issuers, server, bind: false })
}

fn read(document: &Map<String, Value>, place: &str) -> Result<ServerMetadata, Error> {
    let bad = |reason: &str| Error::Malformed { url: place.to_owned(), reason: reason.to_owned() };
    let metadata = ServerMetadata::read(document).map_err(bad)?;
    let endpoints = [
        ("the authorization endpoint", metadata.authorization_endpoint.as_deref()),
        ("the token endpoint", Some(metadata.token_endpoint.as_str())),
        ("the registration endpoint", metadata.registration_endpoint.as_deref()),
        ("the revocation endpoint", metadata.revocation_endpoint.as_deref()),
    ];
    for (what, endpoint) in endpoints {
        let Some(endpoint) = endpoint.map(|endpoint| address(what, endpoint)).transpose()? else {
            continue;
        };
        if place.parse().is_ok_and(|place| leads_inside(&place, &endpoint)) {
            let reason = format!("{what} it names is a private address");
            return Err(Error::Discovery { url: place.to_owned(), reason });
        }
    }
    Ok(metadata)
}

/// The document of an answer; nothing if there is none at this place.
fn document(reply: &Reply) -> Result<Option<Map<String, Value>>, Error> {
    if let Some(unavailable) = reply.unavailable() {
        return Err(unavailable);
    }
    // Some servers answer every path with their start page.
    Ok(reply.object().filter(|_| reply.is_success()))
}

impl Found {
    pub(crate) fn offered_scopes(&self) -> OfferedScopes<'_> {
        let by_issuer = &self.server.scopes_supported;
        OfferedScopes { by_resource: self.scopes.as_deref(), by_issuer }
    }

    /// A document that [`Found::read`] reads back.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "resource": self.resource,
            "scopes": self.scopes,
            "issuers": self.issuers,
            "server": self.server.to_json(),
            "guessed": self.server.guessed,
            "bind": self.bind,
        })
    }

    pub(crate) fn read(document: &Value) -> Option<Self> {
        let list = |key: &str| -> Option<Vec<String>> {
            serde_json::from_value(document.get(key)?.clone()).ok()
        };
        let mut server = ServerMetadata::read(document.get("server")?.as_object()?).ok()?;
        server.guessed = document.get("guessed")?.as_bool()?;
        Some(Self {
            resource: document.get("resource")?.as_str()?.to_owned(),
            scopes: list("scopes"),
            issuers: list("issuers")?,
            bind: document.get("bind")?.as_bool()?,
            server,
        })
    }
}
