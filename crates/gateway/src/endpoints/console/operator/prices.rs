//! Prices, models and aliases.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use pages::{Frame, credits};

use crate::config::Operation;
use crate::endpoints::console::context::OperatorContext;
use crate::endpoints::console::models::{ModelRow, row};
use crate::endpoints::console::page::{self, PageError};
use crate::upstreams::Upstreams;

#[derive(Template)]
#[template(path = "console/operator/prices.html")]
struct PricesPage {
    frame: Frame,
    operations: Vec<(String, String)>,
    patterns: Vec<(String, String)>,
    aliases: Vec<ModelRow>,
    models: Vec<ModelRow>,
}

pub(in crate::endpoints) async fn list(
    context: OperatorContext,
    State(upstreams): State<Arc<Upstreams>>,
) -> Result<Response, PageError> {
    let prices = &context.config.prices;
    let operation = |it: Operation| (it.word().replace('_', " "), credits(prices.default_of(it)));
    let patterns = prices.models().iter();
    let catalogue = upstreams.catalogue.load();
    let rows = catalogue.models().map(|model| row(model));
    let (models, aliases) = rows.partition(|row: &ModelRow| row.targets.is_empty());
    page::show(&PricesPage {
        frame: context.frame("Prices and aliases", "/operator/prices"),
        operations: Operation::all().map(operation).collect(),
        patterns: patterns
            .map(|(name, price)| (name.as_str().to_owned(), credits(*price)))
            .collect(),
        aliases,
        models,
    })
}
