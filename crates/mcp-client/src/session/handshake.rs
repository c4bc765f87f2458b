//! The two ways to begin: `initialize`, and `server/discover`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Agreed, Ask, Inner, Limit};
use crate::error::Error;
use crate::message::{self, Params, Payload, RpcError, bounded};
use crate::oauth::person::Person;
use crate::protocol::{Era, LEGACY_VERSIONS, STATELESS_VERSION, initialize_params};
use crate::transport::Link;

/// The handshake of the legacy era.
pub(super) async fn initialize(inner: &Arc<Inner>, within: Duration) -> Result<Agreed, Error> {
    let ask =
        Ask::new("initialize", initialize_params(&inner.entry, &inner.host), Limit::within(within));
    let answer = object("initialize", &inner.ask(ask).await?)?;
    let version = answer.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    if !LEGACY_VERSIONS.contains(&version) {
        return Err(Error::UnknownVersion { version: message::head(version, 64) });
    }
    let agreed = Agreed {
        era: Era::Legacy,
        version: version.to_owned(),
        capabilities: answer.get("capabilities").cloned().unwrap_or(Value::Null),
        server_info: answer.get("serverInfo").cloned().unwrap_or(Value::Null),
        instructions: answer.get("instructions").and_then(Value::as_str).map(bounded),
    };
    if let Link::Http(link) = &inner.link {
        link.settle(Era::Legacy, version);
    }
    let mut person = Person::new(inner.credentials.as_ref(), &inner.host);
    loop {
        match tell_initialized(inner, within).await {
            // Some servers answer a notification with an error and serve on.
            Ok(()) | Err(Error::Http { .. } | Error::Rpc(_)) => return Ok(agreed),
            Err(error) => person.help(error).await?,
        }
    }
}

async fn tell_initialized(inner: &Arc<Inner>, within: Duration) -> Result<(), Error> {
    let told = message::notification("notifications/initialized", &Params::new());
    tokio::time::timeout(within, inner.link.tell(told)).await.unwrap_or_else(|_| {
        let reason = "the server did not take our `initialized`".to_owned();
        Err(Error::Broken { reason })
    })
}

/// The probe of the stateless era.
pub(super) async fn discover(inner: &Arc<Inner>, within: Duration) -> Result<Agreed, Error> {
    if let Link::Http(link) = &inner.link {
        link.settle(Era::Stateless, STATELESS_VERSION);
    }
    let standing = standing(inner);
    let probe = || {
        let params = Params::new().with_raw("_meta", &format!("{{{standing}}}"));
        inner.ask(Ask::new("server/discover", params, Limit::within(within)))
    };
    let answer = match probe().await {
        // It names the very version we asked with: it wants to be asked again.
        Err(Error::Rpc(error))
            if error.code == RpcError::UNSUPPORTED_VERSION
                && error.supported_versions().iter().any(|known| known == STATELESS_VERSION) =>
        {
            probe().await
        }
        other => other,
    }?;
    let answer = object("server/discover", &answer)?;
    let versions = answer.get("supportedVersions").and_then(Value::as_array);
    let Some(versions) = versions else {
        let reason = "`server/discover` lists no supported versions".to_owned();
        return Err(Error::Malformed { reason });
    };
    let versions: Vec<&str> = versions.iter().filter_map(Value::as_str).collect();
    if !versions.contains(&STATELESS_VERSION) {
        let version = message::head(&versions.join(", "), 200);
        return Err(Error::UnknownVersion { version });
    }
    let info = answer.get("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/serverInfo"));
    let agreed = Agreed {
        era: Era::Stateless,
        version: STATELESS_VERSION.to_owned(),
        capabilities: answer.get("capabilities").cloned().unwrap_or(Value::Null),
        server_info: info.cloned().unwrap_or(Value::Null),
        instructions: answer.get("instructions").and_then(Value::as_str).map(bounded),
    };
    let _ = inner.standing.set(standing);
    Ok(agreed)
}

/// What every request of the stateless era carries under `_meta`.
fn standing(inner: &Inner) -> String {
    let identity = &inner.host.identity;
    let capabilities = inner.host.requests.capabilities(&inner.entry);
    let info = json!({ "name": identity.name, "version": identity.version });
    format!(
        "\"io.modelcontextprotocol/protocolVersion\":\"{STATELESS_VERSION}\",\
         \"io.modelcontextprotocol/clientInfo\":{info},\
         \"io.modelcontextprotocol/clientCapabilities\":{capabilities}"
    )
}

fn object(method: &str, answer: &Payload) -> Result<Value, Error> {
    let value = answer.value();
    if value.is_object() {
        return Ok(value);
    }
    Err(Error::Malformed { reason: format!("the result of `{method}` is not an object") })
}
