//! The two handshakes: `initialize` and `server/discover`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{HandshakeResult, Inner, Request, Timeouts};
use crate::error::Error;
use crate::message::{self, Params, RawJson, RpcError, truncated_peer_text};
use crate::oauth::login::InteractiveSignIn;
use crate::protocol::{
    Era, LEGACY_VERSIONS, STATELESS_VERSION, client_capabilities, initialize_params,
};
use crate::transport::Connection;

pub(super) async fn initialize(
    inner: &Arc<Inner>,
    within: Duration,
) -> Result<HandshakeResult, Error> {
    let params = initialize_params(&inner.entry, &inner.host);
    let request = Request::new("initialize", params, Timeouts::total(within));
    let answer = into_object("initialize", &inner.request(request).await?)?;
    let version = answer["protocolVersion"].as_str().unwrap_or_default();
    if !LEGACY_VERSIONS.contains(&version) {
        return Err(Error::UnknownVersion { version: message::truncated(version, 64) });
    }
    let handshake = handshake_result(Era::Legacy, version, &answer, &answer["serverInfo"]);
    if let Connection::Http(connection) = &inner.connection {
        connection.settle(Era::Legacy, version);
    }
    let mut sign_in = InteractiveSignIn::new(inner.credentials.as_ref(), &inner.host);
    loop {
        match notify_initialized(inner, within).await {
            // Some servers answer the notification with an error and work anyway.
            Ok(()) | Err(Error::Http { .. } | Error::Rpc(_)) => return Ok(handshake),
            Err(error) => sign_in.resolve(error).await?,
        }
    }
}

async fn notify_initialized(inner: &Arc<Inner>, within: Duration) -> Result<(), Error> {
    let body = message::notification("notifications/initialized", &Params::default());
    tokio::time::timeout(within, inner.connection.send_message(body)).await.unwrap_or_else(|_| {
        Err(Error::broken("the server did not accept the `initialized` notification"))
    })
}

pub(super) async fn discover(
    inner: &Arc<Inner>,
    within: Duration,
) -> Result<HandshakeResult, Error> {
    if let Connection::Http(connection) = &inner.connection {
        connection.settle(Era::Stateless, STATELESS_VERSION);
    }
    let common_meta = common_meta(inner);
    let probe = || {
        let params = Params::default().with_object("_meta", &common_meta);
        inner.request(Request::new("server/discover", params, Timeouts::total(within)))
    };
    let answer = match probe().await {
        // It supports the version we sent: retry once.
        Err(Error::Rpc(error))
            if error.code == RpcError::UNSUPPORTED_VERSION
                && error.supported_versions().iter().any(|known| known == STATELESS_VERSION) =>
        {
            probe().await
        }
        other => other,
    }?;
    let answer = into_object("server/discover", &answer)?;
    let Some(versions) = answer["supportedVersions"].as_array() else {
        return Err(Error::malformed("`server/discover` lists no supported versions"));
    };
    let versions: Vec<&str> = versions.iter().filter_map(Value::as_str).collect();
    if !versions.contains(&STATELESS_VERSION) {
        let version = message::truncated(&versions.join(", "), 200);
        return Err(Error::UnknownVersion { version });
    }
    let info = &answer["_meta"]["io.modelcontextprotocol/serverInfo"];
    let _ = inner.common_meta.set(common_meta);
    Ok(handshake_result(Era::Stateless, STATELESS_VERSION, &answer, info))
}

fn handshake_result(era: Era, version: &str, answer: &Value, info: &Value) -> HandshakeResult {
    HandshakeResult {
        era,
        version: version.to_owned(),
        capabilities: answer["capabilities"].clone(),
        server_info: info.clone(),
        instructions: answer["instructions"].as_str().map(truncated_peer_text),
    }
}

fn common_meta(inner: &Inner) -> Params {
    let identity = &inner.host.identity;
    let capabilities = client_capabilities(&inner.entry, &inner.host, Era::Stateless);
    let info = json!({ "name": identity.name, "version": identity.version });
    let meta = Params::default()
        .with("io.modelcontextprotocol/protocolVersion", STATELESS_VERSION)
        .with("io.modelcontextprotocol/clientInfo", &info)
        .with("io.modelcontextprotocol/clientCapabilities", &capabilities);
    match &inner.entry.log_level {
        Some(level) => meta.with("io.modelcontextprotocol/logLevel", level),
        None => meta,
    }
}

fn into_object(method: &str, answer: &RawJson) -> Result<Value, Error> {
    let value = answer.value();
    if value.is_object() {
        return Ok(value);
    }
    Err(Error::malformed(format!("the result of `{method}` is not an object")))
}
