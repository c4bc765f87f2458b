//! `agent gateway provider`: where models and results are.

mod test;

use clap::Subcommand;
use gateway::config::{Config, Provider, SearchProvider};
use gateway_store::ProviderAction;
use serde_json::{Value, json};
use task_loop::untrusted::printable;

use super::file::Location;
use super::operator_store::{OperatorStore, block_on};
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::table::Table;

/// List, test and drain model and search providers
#[derive(Debug, Subcommand)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Providers are configured in gateway.yaml.

Examples:
  agent gateway provider list
  agent gateway provider test openai"
)]
pub(crate) enum Command {
    /// List configured providers without connecting
    #[command(after_help = "\
Examples:
  agent gateway provider list
  agent gateway provider list --json")]
    List,
    Test(test::Args),
    /// Stop new requests to a provider
    #[command(after_help = "\
Running requests finish. All processes follow within seconds, and the provider stays drained after a \
restart, until `agent gateway provider enable`.

Examples:
  agent gateway provider drain openai")]
    Drain(ProviderArgs),
    /// Allow new requests to a drained provider
    #[command(after_help = "\
Examples:
  agent gateway provider enable openai")]
    Enable(ProviderArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ProviderArgs {
    /// Provider name in gateway.yaml
    name: String,
}

pub(crate) fn run(
    command: Command,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    match command {
        Command::List => list(location, session),
        Command::Test(args) => test::run(&args, location, session),
        Command::Drain(args) => change(&args.name, ProviderAction::Drain, location, session),
        Command::Enable(args) => change(&args.name, ProviderAction::Enable, location, session),
    }
}

fn change(
    name: &str,
    action: ProviderAction,
    location: &Location,
    session: &Session,
) -> Result<(), Diagnostic> {
    let changed = OperatorStore::with(location, session, async |books| {
        Ok(books.operator().change_provider(&books.config, name, action).await?)
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

pub(crate) fn list(location: &Location, session: &Session) -> Result<(), Diagnostic> {
    let config = location.load(session)?;
    let drained = drained(&config)?;
    if session.output.is_json() {
        let list = config.providers.iter().map(|it| provider_json(it, &drained));
        let list = list.collect::<Vec<Value>>();
        let results = config.search.providers.iter().map(results_json).collect::<Vec<Value>>();
        return session.output.json(&json!({ "providers": list, "of_results": results }));
    }
    if config.providers.is_empty() && config.search.providers.is_empty() {
        session.output.note("No providers. Add one under `providers` in gateway.yaml.");
        return Ok(());
    }
    let mut table =
        Table::new(["provider", "kind", "address", "key", "models", "discover", "weight"])
            .align_right(&["models", "weight"]);
    for provider in &config.providers {
        table.row([
            provider.name.clone(),
            provider.kind.word().to_owned(),
            place_of_models(provider),
            if provider.api_key.is_some() { "yes" } else { "-" }.to_owned(),
            provider.models.len().to_string(),
            if provider.discover { "yes" } else { "-" }.to_owned(),
            provider.weight.to_string(),
        ]);
    }
    for provider in &config.search.providers {
        let (place, has_key) = place(provider);
        let none = || "-".to_owned();
        table.row([
            provider.name().to_owned(),
            provider.kind().to_owned(),
            place,
            if has_key { "yes".to_owned() } else { none() },
            none(),
            none(),
            none(),
        ]);
    }
    session.output.text(table.text())?;
    if !drained.is_empty() {
        session.output.note(format!("Drained: {}.", printable(&drained.join(", "))));
    }
    Ok(())
}

/// The providers that get no new requests; none if there is no database yet.
fn drained(config: &Config) -> Result<Vec<String>, Diagnostic> {
    block_on(async {
        let Ok(store) = gateway::open_store(config).await else { return Ok(Vec::new()) };
        let shared = store.shared_state().await;
        store.close().await;
        Ok(shared?.drained)
    })
}

fn place_of_models(provider: &Provider) -> String {
    match &provider.local {
        Some(local) => local.folder.display().to_string(),
        None => provider.base_url.to_string(),
    }
}

/// Where a provider of results is, and whether it is sent a key.
fn place(provider: &SearchProvider) -> (String, bool) {
    match provider {
        SearchProvider::Remote { upstream, .. } => {
            (upstream.base_url.to_string(), upstream.api_key.is_some())
        }
        SearchProvider::Index(index) => (index.folder.display().to_string(), false),
    }
}

fn results_json(provider: &SearchProvider) -> Value {
    let (place, has_key) = place(provider);
    let name = if matches!(provider, SearchProvider::Index(_)) { "folder" } else { "base_url" };
    json!({ "name": provider.name(), "kind": provider.kind(), name: place, "has_key": has_key })
}

fn provider_json(provider: &Provider, drained: &[String]) -> Value {
    json!({
        "name": provider.name,
        "kind": provider.kind.word(),
        if provider.local.is_some() { "folder" } else { "base_url" }: place_of_models(provider),
        "has_key": provider.api_key.is_some(),
        "models": provider.models.iter().map(|model| &model.id).collect::<Vec<_>>(),
        "discover": provider.discover,
        "weight": provider.weight,
        "max_concurrency": provider.max_concurrency,
        "drained": drained.contains(&provider.name),
    })
}
