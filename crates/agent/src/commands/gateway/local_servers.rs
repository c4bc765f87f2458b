//! Model servers on this machine: their usual addresses, and their detection.

use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use gateway::config::{Config, Health, Provider, Timeouts, read};
use gateway::probe;
use http::Uri;
use serde_json::Value;
use settings::Scope;

const USUAL: &[(&str, &str)] = &[
    ("ollama", "http://127.0.0.1:11434/v1"),
    ("llamacpp", "http://127.0.0.1:8080/v1"),
    ("vllm", "http://127.0.0.1:8000/v1"),
    ("lmstudio", "http://127.0.0.1:1234/v1"),
];
/// Timeouts of connecting and of listing the models.
const MAX_CONNECT: Duration = Duration::from_millis(500);
const MAX_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Server {
    /// The prefix of its model ids.
    pub(crate) name: String,
    pub(crate) base_url: Uri,
}

#[derive(Debug, Clone)]
pub(crate) struct DetectedServer {
    pub(crate) server: Server,
    pub(crate) models: Vec<String>,
}

/// Reads `NAME=URL`.
pub(crate) fn named(text: &str) -> Result<Server, String> {
    let (name, url) =
        text.split_once('=').ok_or("expected NAME=URL, such as gpu=http://gpu:8000/v1")?;
    let is_name = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if !is_name {
        return Err(
            "the name must consist of letters, digits, dots, underscores and hyphens".to_owned()
        );
    }
    let base_url: Uri = url.trim_end_matches('/').parse().map_err(|_| "invalid URL")?;
    if !matches!(base_url.scheme_str(), Some("http" | "https")) || base_url.host().is_none() {
        return Err("the URL must start with http:// or https://".to_owned());
    }
    Ok(Server { name: name.to_owned(), base_url })
}

/// The addresses to probe: the usual ones unless `no_discover`, and the given ones.
pub(crate) fn candidates(given: &[Server], no_discover: bool) -> Vec<Server> {
    let mut servers = given.to_vec();
    let usual = USUAL.iter().filter(|_| !no_discover);
    servers.extend(usual.filter_map(|(name, url)| {
        let is_given = given.iter().any(|server| server.name == *name);
        (!is_given).then(|| Server { name: (*name).to_owned(), base_url: Uri::from_static(url) })
    }));
    servers
}

/// Probes all servers concurrently; returns those that list models.
pub(crate) async fn detect(servers: Vec<Server>) -> Vec<DetectedServer> {
    let looked = servers.into_iter().map(|server| async move {
        let provider = Provider {
            timeouts: Timeouts { connect: MAX_CONNECT, ..Timeouts::default() },
            health: Some(Health { timeout: MAX_WAIT, ..Health::default() }),
            ..provider(&server)?
        };
        let asked = probe::models(&provider).await.ok()?;
        let is_good = (200..300).contains(&asked.status);
        let models = asked.found.filter(|_| is_good)?;
        Some(DetectedServer { server, models })
    });
    join_all(looked).await.into_iter().flatten().collect()
}

/// Adds those that the configuration lacks, by name and by address; returns their names.
pub(crate) fn merge(config: &mut Config, found: &[DetectedServer]) -> Vec<String> {
    let mut added = Vec::new();
    for DetectedServer { server, .. } in found {
        let is_known = config.providers.iter().any(|known| {
            known.name == server.name
                || host_and_port(&known.base_url) == host_and_port(&server.base_url)
        });
        if let Some(provider) = provider(server).filter(|_| !is_known) {
            config.providers.push(provider);
            added.push(server.name.clone());
        }
    }
    added
}

/// Host and port; treats both names of this machine as equal.
fn host_and_port(uri: &Uri) -> (String, u16) {
    let host = uri.host().unwrap_or_default().to_ascii_lowercase();
    let host = if host == "localhost" { "127.0.0.1".to_owned() } else { host };
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    (host, uri.port_u16().unwrap_or(usual))
}

fn provider(server: &Server) -> Option<Provider> {
    let url = Value::from(server.base_url.to_string());
    as_if_configured(&server.name, &format!("kind: openai, base_url: {url}"), Path::new("/"))
}

/// A provider with these keys, which offers all models that it has.
pub(crate) fn as_if_configured(name: &str, keys: &str, folder: &Path) -> Option<Provider> {
    let text = format!("providers: {{\"{name}\": {{{keys}, discover: true}}}}");
    read(&text, &Scope::default(), folder).config?.providers.pop()
}

#[cfg(test)]
mod tests;
