//! The models that a member may use, and what requests cost.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use pages::{Frame, Html, credits};

use super::context::MemberContext;
use super::page::{self, PageError};
use crate::catalogue::Model;
use crate::config::{Config, Operation};
use crate::identity::may_use;
use crate::upstreams::Upstreams;

#[derive(Template)]
#[template(path = "console/models.html")]
struct ModelsPage {
    frame: Frame,
    models: Vec<ModelRow>,
    operations: Vec<(String, String)>,
    query: String,
}

/// A model in a table.
pub(super) struct ModelRow {
    pub(super) id: String,
    pub(super) description: String,
    pub(super) capabilities: Vec<&'static str>,
    pub(super) context: String,
    pub(super) price: String,
    pub(super) state: Html,
    pub(super) is_chat: bool,
    /// The models behind an alias, in the order of preference.
    pub(super) targets: String,
}

pub(super) async fn list(
    context: MemberContext,
    State(upstreams): State<Arc<Upstreams>>,
    State(config): State<Arc<Config>>,
) -> Result<Response, PageError> {
    let query = context.param("q").to_lowercase();
    let catalogue = upstreams.catalogue.load();
    let models = catalogue.models().filter(|model| may_use(&context.caller, &model.id));
    let models = models.filter(|model| model.id.to_lowercase().contains(&query));
    page::show(&ModelsPage {
        frame: context.frame("Models and prices", "/models"),
        models: models.map(|model| row(model)).collect(),
        operations: operations(&config),
        query: context.param("q").to_owned(),
    })
}

pub(super) fn row(model: &Model) -> ModelRow {
    let is_alias = model.full_target().is_none();
    let groups = model.groups.iter().map(|group| {
        let names: Vec<&str> = group.iter().map(|target| &*target.id).collect();
        names.join(" or ")
    });
    let capabilities: Vec<_> = model.capabilities.iter().map(|word| word.word()).collect();
    ModelRow {
        id: model.id.to_string(),
        description: model.description.clone().unwrap_or_default(),
        context: model.context_length.map(pages::count).unwrap_or_default(),
        price: credits(model.usual_price().get()),
        state: if model.is_usable() {
            pages::tag("good", "available")
        } else {
            pages::tag("bad", "unavailable")
        },
        is_chat: capabilities.contains(&"chat"),
        capabilities,
        targets: if is_alias { groups.collect::<Vec<_>>().join(", then ") } else { String::new() },
    }
}

/// The prices of operations without a model; those that are free are left out.
pub(super) fn operations(config: &Config) -> Vec<(String, String)> {
    let price = |operation: Operation| (operation, config.prices.default_of(operation));
    let priced = Operation::all().map(price).filter(|(_, price)| *price > 0);
    priced.map(|(operation, price)| (operation.word().replace('_', " "), credits(price))).collect()
}
