//! The models that a member may use, and what requests cost.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use pages::{Frame, Html, credits};
use wire::error::Code;

use super::super::body;
use super::super::internal_call::{InternalCalls, InternalRequest};
use super::context::MemberContext;
use super::page::{self, PageResult};
use crate::catalogue::Model;
use crate::config::{Capability, Config, Operation};
use crate::endpoints::state::Shared;
use crate::failure::ApiError;
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
    State(upstreams): Shared<Upstreams>,
    State(config): Shared<Config>,
) -> PageResult {
    let query = context.param("q").to_lowercase();
    let catalogue = upstreams.catalogue.load();
    let models = catalogue.models().filter(|model| may_use(&context.caller, &model.id));
    let models = models.filter(|model| model.id.to_lowercase().contains(&query));
    page::show(&ModelsPage {
        frame: context.frame("Models and prices", "/models"),
        models: models.map(|model| model_row(model)).collect(),
        operations: operations(&config),
        query: context.param("q").to_owned(),
    })
}

pub(super) fn model_row(model: &Model) -> ModelRow {
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

#[derive(Template)]
#[template(path = "console/playground.html")]
struct PlaygroundPage {
    frame: Frame,
    csrf: String,
    base_url: String,
    models: Vec<(String, String)>,
    chosen: String,
}

pub(super) async fn playground(
    context: MemberContext,
    State(upstreams): Shared<Upstreams>,
) -> PageResult {
    let catalogue = upstreams.catalogue.load();
    let models = catalogue.models().filter(|model| {
        model.is_for(Capability::Chat) && model.is_usable() && may_use(&context.caller, &model.id)
    });
    let price = |price: ledger::Micros| format!("{} credits", credits(price.get()));
    let models = models.map(|it| (it.id.to_string(), price(it.prices.of(Operation::Chat))));
    let base_url = context.config.public_url.to_string().trim_end_matches('/').to_owned();
    page::show(&PlaygroundPage {
        frame: context.frame("Playground", "/playground"),
        csrf: context.csrf(),
        base_url,
        models: models.collect(),
        chosen: context.param("model").to_owned(),
    })
}

pub(super) async fn chat(
    context: MemberContext,
    Extension(calls): Extension<Arc<InternalCalls>>,
    request: Request,
) -> Response {
    let (head, sent) = request.into_parts();
    if context.check_script(&head.headers).is_err() {
        let message = "this request was not sent by a page of this service; reload the page";
        return ApiError::new(Code::OriginRefused, message).into_response();
    }
    let body = body::read(&context.config.limits, &head.headers, sent).await;
    let answered = match body {
        Ok(body) => {
            calls.send_as(&context.info, &context.caller, InternalRequest::Chat(body)).await
        }
        Err(error) => Err(error),
    };
    answered.unwrap_or_else(IntoResponse::into_response)
}
