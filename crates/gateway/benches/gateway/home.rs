//! What the service is configured with here: one provider, and state in a file or on a server.

use std::net::SocketAddr;
use std::path::Path;

use gateway_store::DatabaseLocation;

use crate::chat;
use crate::load::Target;
use crate::service::{Home, Service};
use crate::upstream::Behaviour;

/// What the provider is called.
pub(crate) const PROVIDER: &str = "mock";
/// The same upstream, with the interface of messages.
pub(crate) const ANTHROPIC: &str = "claude";

/// Opens the pages of the operator.
pub(crate) const ADMIN_TOKEN: &str = "an-admin-token-of-at-least-32-characters";

/// With a separate file.
pub(crate) async fn sqlite(upstream: SocketAddr) -> Home {
    Home::sqlite(&providers(upstream)).await
}

/// With a database of a server.
pub(crate) async fn postgres(upstream: SocketAddr, url: &str) -> Home {
    let folder = tempfile::tempdir().expect("a folder");
    Home::new(folder, DatabaseLocation::Postgres(url.to_owned()), &providers(upstream)).await
}

fn providers(upstream: SocketAddr) -> String {
    let models = Behaviour::ALL.map(|behaviour| match behaviour {
        Behaviour::Embed => "embed: {capabilities: [embeddings]}".to_owned(),
        other => format!("{}: {{}}", other.model()),
    });
    let models = models.join(", ");
    format!(
        "admin_token: {ADMIN_TOKEN}\nproviders:\n  {PROVIDER}:\n    kind: openai\n    base_url: http://{upstream}/v1\n    \
         models: {{{models}}}\n    health: {{interval: 3600}}\n  {ANTHROPIC}:\n    kind: anthropic\n    \
         base_url: http://{upstream}/v1\n    models: [message]\n    health: {{interval: 3600}}\n"
    )
}

/// The file of the state, if it is one.
pub(crate) fn file(home: &Home) -> Option<&Path> {
    match &home.place {
        DatabaseLocation::Sqlite(path) => Some(path),
        DatabaseLocation::Postgres(_) => None,
    }
}

/// Asks a service for a model, with every key of its home in turn.
pub(crate) fn target(service: &Service, behaviour: Behaviour, home: &Home) -> Target {
    chat::target(service.address, behaviour, &format!("{PROVIDER}/"), &home.keys)
}
