//! `agent gateway provider drain` and `enable`.

use gateway_store::ProviderAction;
use serde_json::json;
use task_loop::untrusted::printable;

use crate::commands::gateway::file::Location;
use crate::commands::gateway::operator_store::{OperatorStore, refused};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Stop new requests to a provider
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Running requests finish. All processes follow within seconds, and the provider stays drained after a \
restart, until `agent gateway provider enable`.

Examples:
  agent gateway provider drain openai")]
pub(crate) struct Drain {
    /// Provider name in gateway.yaml
    name: String,
}

/// Allow new requests to a drained provider
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agent gateway provider enable openai")]
pub(crate) struct Enable {
    /// Provider name in gateway.yaml
    name: String,
}

pub(crate) fn drain(
    args: &Drain,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    change(&args.name, ProviderAction::Drain, location, session)
}

pub(crate) fn enable(
    args: &Enable,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    change(&args.name, ProviderAction::Enable, location, session)
}

fn change(
    name: &str,
    action: ProviderAction,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let changed = OperatorStore::with(location, session, async |books| {
        books.operator().change_provider(&books.config, name, action).await.map_err(refused)
    })?;
    if session.output.is_json() {
        let drained = action == ProviderAction::Drain;
        return session
            .output
            .json(&json!({ "provider": name, "drained": drained, "changed": changed }));
    }
    let name = printable(name);
    session.output.note(match (action, changed) {
        (ProviderAction::Drain, true) => format!("{name} gets no new requests."),
        (ProviderAction::Drain, false) => format!("{name} was drained before."),
        (ProviderAction::Enable, true) => format!("{name} gets new requests again."),
        (ProviderAction::Enable, false) => format!("{name} was not drained."),
    });
    Ok(())
}
