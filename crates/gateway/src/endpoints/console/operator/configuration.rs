//! The configuration of the running service without secrets, the file on disk, and its reload.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use gateway_store::ProcessReport;
use http::{Request, StatusCode};
use pages::Frame;

use crate::config::{Config, Database};
use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::page::{self, PageError, redirect};
use crate::failure::ApiError;
use crate::operator::{Error, Operator};
use crate::reload::FileCheck;
use crate::service::Service;

#[derive(Template)]
#[template(path = "console/operator/configuration.html")]
struct ConfigurationPage {
    frame: Frame,
    facts: Vec<(&'static str, String)>,
    limits: Vec<(&'static str, String)>,
    advice: Vec<&'static str>,
    csrf: String,
    file: FileCheck,
    processes: Vec<ProcessReport>,
    /// Problems of a reload that are not problems of the file alone.
    refused: Vec<String>,
}

pub(in crate::endpoints) async fn show(
    context: OperatorContext,
    State(service): State<Arc<Service>>,
) -> Result<Response, PageError> {
    configuration_page(&context, &service, Vec::new()).await
}

/// Reloads the configuration of all processes.
pub(in crate::endpoints) async fn reload(
    context: OperatorContext,
    State(service): State<Arc<Service>>,
    request: Request<Body>,
) -> Result<Response, PageError> {
    context.submitted(request).await?;
    let operator = Operator { store: context.store(), by: &context.by };
    match operator.reload(&service.reloads).await {
        Ok(_) => Ok(redirect("/operator/configuration?done=reloaded")),
        Err(Error::Configuration(problems)) => {
            configuration_page(&context, &service, problems).await
        }
        Err(error) => Err(PageError::from(ApiError::from(error))),
    }
}

async fn configuration_page(
    context: &OperatorContext,
    service: &Service,
    refused: Vec<String>,
) -> Result<Response, PageError> {
    let config = &context.config;
    let file = service.reloads.check(config).await;
    let mut frame = context.frame("Configuration", "/operator/configuration");
    let status = if refused.is_empty() { StatusCode::OK } else { StatusCode::CONFLICT };
    if !refused.is_empty() {
        let text = "The configuration was not reloaded; nothing was changed.";
        frame.notice = Some(page::refused(text));
    }
    let refused = refused.into_iter().filter(|problem| !file.errors.contains(problem)).collect();
    let page = ConfigurationPage {
        frame,
        facts: facts(config),
        limits: limits(config),
        advice: advice(config),
        csrf: context.csrf(),
        file,
        processes: context.store().processes().await?,
        refused,
    };
    page::show_as(status, &page)
}

fn facts(config: &Config) -> Vec<(&'static str, String)> {
    let database = match &config.database {
        Database::Sqlite { path, .. } => format!("SQLite, {}", path.display()),
        Database::Postgres { .. } => "PostgreSQL".to_owned(),
    };
    let metrics = config.metrics_listen.map_or("/metrics".to_owned(), |at| at.to_string());
    vec![
        ("Public address", config.public_url.to_string()),
        ("Listens on", config.listen.to_string()),
        ("Metrics", metrics),
        ("Database", database),
        ("Providers", config.providers.len().to_string()),
        ("Aliases", config.aliases.len().to_string()),
        ("Search providers", config.search.providers.len().to_string()),
        ("Client disconnects", format!("{:?} the answer", config.on_client_gone)),
        ("Images by address", format!("{:?}", config.remote_images)),
        ("Downloads", if config.downloads.is_some() { "served" } else { "off" }.to_owned()),
        ("Traces", if config.trace.is_some() { "exported" } else { "off" }.to_owned()),
    ]
}

fn limits(config: &Config) -> Vec<(&'static str, String)> {
    let limits = &config.limits;
    let number = |limit: Option<u32>| limit.map_or("no limit".to_owned(), |it| it.to_string());
    let (spend, budget) = (limits.new_keys.spend_micros, limits.new_keys.limits().budget);
    let each = |it: ledger::Budget| {
        format!("{} credits per {}", pages::credits(it.amount.get()), it.period.as_str())
    };
    let seconds = |time: std::time::Duration| {
        pages::duration(i64::try_from(time.as_micros()).unwrap_or(i64::MAX))
    };
    vec![
        ("Largest request", pages::bytes(limits.max_body_bytes)),
        ("Largest answer", pages::bytes(limits.max_answer_bytes)),
        ("Connections", pages::count(limits.max_connections.into())),
        ("Connections per address", number(limits.max_connections_per_address)),
        ("Longest stream", seconds(limits.max_stream)),
        ("Drain", seconds(limits.drain)),
        ("New keys: requests per minute", number(limits.new_keys.requests_per_minute)),
        ("New keys: requests at once", number(limits.new_keys.concurrency)),
        (
            "New keys: spend",
            spend.map_or("no limit".to_owned(), |it| format!("{} credits", pages::credits(it))),
        ),
        ("New keys: budget", budget.map_or("no budget".to_owned(), each)),
    ]
}

/// What deserves attention in a configuration that works.
fn advice(config: &Config) -> Vec<&'static str> {
    let mut advice = Vec::new();
    let is_https = config.public_url.scheme_str() == Some("https");
    if !is_https && !config.listen.ip().is_loopback() {
        advice
            .push("The service listens beyond this machine, but its public address is not https.");
    }
    if config.providers.is_empty() {
        advice.push("There is no provider, so members have no models.");
    }
    if config.metrics_listen.is_none() && !config.listen.ip().is_loopback() {
        advice
            .push("/metrics is open on the public address. Set metrics_listen to keep it private.");
    }
    let new_keys = config.limits.new_keys;
    if new_keys.spend_micros.is_none() && new_keys.budget.is_none() {
        advice
            .push("New keys have neither a spend limit nor a budget: a leaked key can spend a member's whole balance.");
    }
    advice
}
