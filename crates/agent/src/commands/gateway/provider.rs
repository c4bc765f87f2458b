//! `agent gateway provider`: the providers of models and of search results.

mod test;

use clap::Subcommand;
use gateway::config::{Provider, SearchProvider};
use gateway_store::ProviderAction;
use serde_json::{Value, json};
use task_loop::untrusted::printable;

use super::operator_store::{Context, block_on};
use crate::diagnostic::Result;
use crate::table::Table;

/// List, test and drain model and search providers
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Providers are configured in gateway.yaml.

Examples:
  agent gateway provider list
  agent gateway provider test openai")]
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

pub(crate) fn run(command: Command, context: Context<'_>) -> Result {
    match command {
        Command::List => list(context),
        Command::Test(args) => test::run(&args, context),
        Command::Drain(args) => change(&args.name, ProviderAction::Drain, context),
        Command::Enable(args) => change(&args.name, ProviderAction::Enable, context),
    }
}

fn change(name: &str, action: ProviderAction, context: Context<'_>) -> Result {
    let changed = context.with(async |books| {
        Ok(books.operator().change_provider(&books.config, name, action).await?)
    })?;
    let drained = action == ProviderAction::Drain;
    let json = json!({ "provider": name, "drained": drained, "changed": changed });
    let name = printable(name);
    let note = match (action, changed) {
        (ProviderAction::Drain, true) => format!("{name} gets no new requests."),
        (ProviderAction::Drain, false) => format!("{name} was drained before."),
        (ProviderAction::Enable, true) => format!("{name} gets new requests again."),
        (ProviderAction::Enable, false) => format!("{name} was not drained."),
    };
    context.output.print_or_note(&json, note)
}

fn list(context: Context<'_>) -> Result {
    let (config, output) = (context.load()?, &context.output);
    // None if there is no database yet.
    let drained = block_on(async {
        let Ok(store) = gateway::open_store(&config).await else { return Ok(Vec::new()) };
        let shared = store.shared_state().await;
        store.close().await;
        Ok(shared?.drained)
    })?;
    let (models, results) = (&config.providers, &config.search.providers);
    let json = json!({
        "providers": models.iter().map(|it| provider_json(it, &drained)).collect::<Value>(),
        "of_results": results.iter().map(results_json).collect::<Value>(),
    });
    let yes = |is_so: bool| if is_so { "yes" } else { "-" }.to_owned();
    let of_models = |provider: &Provider| {
        [
            provider.name.clone(),
            provider.kind.as_str().to_owned(),
            place_of_models(provider),
            yes(provider.api_key.is_some()),
            provider.models.len().to_string(),
            yes(provider.discover),
            provider.weight.to_string(),
        ]
    };
    let of_results = |provider: &SearchProvider| {
        let (place, has_key) = address_of(provider);
        let (name, kind) = (provider.name().to_owned(), provider.kind().to_owned());
        [name, kind, place, yes(has_key), yes(false), yes(false), yes(false)]
    };
    let table = Table::new(["provider", "kind", "address", "key", "models", "discover", "weight"])
        .align_right(&["models", "weight"])
        .rows(models.iter().map(of_models).chain(results.iter().map(of_results)));
    table.print(output, &json, "No providers. Add one under `providers` in gateway.yaml.")?;
    let is_empty = models.is_empty() && results.is_empty();
    if !drained.is_empty() && !is_empty {
        output.tell(format!("Drained: {}.", printable(&drained.join(", "))));
    }
    Ok(())
}

/// The usual cause of this status.
pub(super) fn status_hint(status: u16) -> Option<&'static str> {
    match status {
        401 | 403 => Some("check `api_key`: the provider rejects the key"),
        404 => Some("check `base_url`, which usually ends in `/v1`"),
        _ => None,
    }
}

fn place_of_models(provider: &Provider) -> String {
    match &provider.local {
        Some(local) => local.folder.display().to_string(),
        None => provider.base_url.to_string(),
    }
}

/// The address of a search provider, and whether it gets a key.
fn address_of(provider: &SearchProvider) -> (String, bool) {
    match provider {
        SearchProvider::Remote { upstream, .. } => {
            (upstream.base_url.to_string(), upstream.api_key.is_some())
        }
        SearchProvider::Index(index) => (index.folder.display().to_string(), false),
    }
}

fn results_json(provider: &SearchProvider) -> Value {
    let (place, has_key) = address_of(provider);
    let name = if matches!(provider, SearchProvider::Index(_)) { "folder" } else { "base_url" };
    json!({ "name": provider.name(), "kind": provider.kind(), name: place, "has_key": has_key })
}

fn provider_json(provider: &Provider, drained: &[String]) -> Value {
    json!({
        "name": provider.name,
        "kind": provider.kind.as_str(),
        if provider.local.is_some() { "folder" } else { "base_url" }: place_of_models(provider),
        "has_key": provider.api_key.is_some(),
        "models": provider.models.iter().map(|model| &model.id).collect::<Vec<_>>(),
        "discover": provider.discover,
        "weight": provider.weight,
        "max_concurrency": provider.max_concurrency,
        "drained": drained.contains(&provider.name),
    })
}
