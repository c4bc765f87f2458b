//! The configuration of the running service without secrets, the file on disk, and its reload.

use askama::Template;
use axum::extract::Request;
use gateway_store::ProcessReport;
use pages::Frame;

use crate::clock;
use crate::config::{Config, Database};
use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::filters;
use crate::endpoints::console::page::{self, PageResult, Refusal, redirect};
use crate::operator::Error;
use crate::reload::FileCheck;

#[derive(Template)]
#[template(path = "console/operator/configuration.html")]
struct ConfigurationPage<'a> {
    frame: Frame,
    config: &'a Config,
    advice: Vec<&'static str>,
    file: FileCheck,
    processes: Vec<ProcessReport>,
    /// Problems of a reload that are not problems of the file alone.
    refused: Vec<String>,
}

pub(super) async fn show(context: OperatorContext) -> PageResult {
    configuration_page(&context, Vec::new()).await
}

pub(super) async fn reload(context: OperatorContext, request: Request) -> PageResult {
    context.submitted(request).await?;
    match context.service.reloads.reload(&context.by).await {
        Ok(_) => Ok(redirect("/operator/configuration?done=reloaded")),
        Err(Error::Configuration(problems)) => configuration_page(&context, problems).await,
        Err(error) => Err(error.into()),
    }
}

async fn configuration_page(context: &OperatorContext, refused: Vec<String>) -> PageResult {
    let config = &context.service.config;
    let file = context.service.reloads.check(config).await;
    let text = "The configuration was not reloaded; nothing was changed.";
    let refusal = (!refused.is_empty()).then(|| Refusal::new("", text).conflict());
    let (frame, status) = context.form_frame("Configuration", "/operator/configuration", refusal);
    let refused = refused.into_iter().filter(|problem| !file.errors.contains(problem)).collect();
    let page = ConfigurationPage {
        frame,
        config,
        advice: advice(config),
        file,
        processes: context.store().processes().await?,
        refused,
    };
    page::show_as(status, &page)
}

/// Warnings about a valid configuration.
fn advice(config: &Config) -> Vec<&'static str> {
    let is_https = config.public_url.scheme_str() == Some("https");
    let is_public = !config.listen.ip().is_loopback();
    let new_keys = config.limits.new_keys;
    let advice = [
        (
            is_public && !is_https,
            "The service listens beyond this machine, but its public address is not https.",
        ),
        (config.providers.is_empty(), "There is no provider, so members have no models."),
        (
            is_public && config.metrics_listen.is_none(),
            "/metrics is open on the public address. Set metrics_listen to keep it private.",
        ),
        (
            new_keys.spend_micros.is_none() && new_keys.budget.is_none(),
            "New keys have neither a spend limit nor a budget: a leaked key can spend a member's \
             whole balance.",
        ),
    ];
    advice.into_iter().filter(|(applies, _)| *applies).map(|(_, text)| text).collect()
}
