//! `agent gateway provider test`: asks a provider for models, a completion or results.

use std::time::Instant;

use gateway::config::{Config, Provider, SearchProvider};
use gateway::probe;
use gateway::search;
use serde_json::json;
use task_loop::nearest;
use task_loop::untrusted::printable;

use crate::commands::gateway::operator_store::{Context, block_on};
use crate::diagnostic::{Diagnostic, Result};
use crate::output::GOOD;
use crate::table::counted;

/// Send a test request to a provider
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Lists the models of a provider, or sends a short chat (--model) or a query. The provider may \
charge for it.

Exit codes: 0 the provider answered, 5 it failed.

Examples:
  agent gateway provider test openai
  agent gateway provider test openai --model gpt-5-mini")]
pub(crate) struct Args {
    /// Provider name in gateway.yaml
    name: String,
    /// Ask this model; its id without the provider's name
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// Query for a search provider
    #[arg(long, value_name = "WORDS", default_value = "test", conflicts_with = "model")]
    query: String,
}

pub(crate) fn run(args: &Args, context: Context<'_>) -> Result {
    let config = context.load()?;
    let results = config.search.providers.iter().find(|provider| provider.name() == args.name);
    if let Some(provider) = results {
        return ask_for_results(provider, &args.query, context);
    }
    let provider = find(&config, &args.name)?;
    let name = printable(&provider.name);
    let asked = block_on(async {
        let asked = match &args.model {
            Some(id) => probe::chat(provider, &upstream_name(provider, id)).await,
            None => probe::models(provider).await,
        };
        asked.map_err(|problem| Diagnostic::peer(problem.message))
    })?;
    let is_good = (200..300).contains(&asked.status) && asked.found.is_some();
    let ms = asked.took.as_millis();
    if context.output.is_json() {
        context.output.json(&json!({
            "provider": provider.name,
            "model": args.model,
            "status": asked.status,
            "took_ms": ms,
            if args.model.is_some() { "answer" } else { "models" }: asked.found,
            "message": asked.message,
            "good": is_good,
        }))?;
    }
    if !is_good {
        let message = match asked.status {
            200..300 => format!("provider `{name}` sent an invalid response"),
            status => format!("provider `{name}` returned status {status}"),
        };
        return Err(Diagnostic::peer(message)
            .causes(asked.message.as_deref().map(printable))
            .hints(super::status_hint(asked.status).map(str::to_owned)));
    }
    if context.output.is_json() {
        return Ok(());
    }
    let found = asked.found.unwrap_or_default();
    let mut text = format!("{GOOD}{name}{GOOD:#} answered in {ms} ms: ");
    if args.model.is_some() {
        text += &printable(found.first().map_or("", |text| text.trim()));
    } else {
        text += &counted(found.len(), "model");
        text.extend(found.iter().map(|id| format!("\n  {name}/{}", printable(id))));
    }
    context.output.text(text + "\n")
}

fn ask_for_results(provider: &SearchProvider, query: &str, context: Context<'_>) -> Result {
    let begun = Instant::now();
    let hits = block_on(async {
        let answered = search::probe(provider, query).await;
        answered.map_err(|problem| Diagnostic::peer(problem.message).hints(problem.hint))
    })?;
    let ms = begun.elapsed().as_millis();
    let name = provider.name();
    let urls: Vec<&str> = hits.iter().map(|hit| hit.url.as_str()).collect();
    let json = json!({
        "provider": name, "query": query, "took_ms": ms, "results": urls, "good": true,
    });
    let (name, count) = (printable(name), counted(hits.len(), "result"));
    let mut text = format!("{GOOD}{name}{GOOD:#} answered in {ms} ms: {count}\n");
    for hit in &hits {
        text += &format!("  {}\n    {}\n", printable(&hit.title), printable(&hit.url));
    }
    context.output.print(&json, text)
}

fn find<'a>(config: &'a Config, name: &str) -> Result<&'a Provider> {
    config.provider(name).ok_or_else(|| {
        let message = format!("unknown provider `{}`", printable(name));
        let known = config.providers.iter().map(|provider| provider.name.as_str());
        let known = known.chain(config.search.providers.iter().map(SearchProvider::name));
        let otherwise = "list providers with `agent gateway provider list`";
        Diagnostic::configuration(message).did_you_mean(nearest(name, known), otherwise)
    })
}

fn upstream_name(provider: &Provider, id: &str) -> String {
    let own = id.strip_prefix(&format!("{}/", provider.name)).unwrap_or(id);
    let known = provider.models.iter().find(|model| model.id == own);
    known.map_or_else(|| own.to_owned(), |model| model.upstream_name.clone())
}
