//! The models that a member may use, what requests cost, and the settings of other programs.

use askama::Template;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use pages::Frame;
use wire::error::Code;

use super::super::body;
use super::super::internal_call::post;
use super::context::MemberContext;
use super::filters;
use super::page::{self, PageResult};
use crate::catalogue::{Catalogue, Model};
use crate::config::{Capability, Config, Operation};
use crate::failure::ApiError;
use crate::identity::{Caller, may_use};

#[derive(Template)]
#[template(path = "console/models.html")]
struct ModelsPage<'a> {
    frame: Frame,
    models: Vec<&'a Model>,
    operations: Vec<(String, i64)>,
    query: &'a str,
}

pub(super) async fn list(context: MemberContext) -> PageResult {
    let query = context.param("q");
    let wanted = query.to_lowercase();
    let catalogue = context.service.upstreams.catalogue.load();
    let models = catalogue.models().filter(|model| may_use(&context.who.caller, &model.id));
    let models = models.filter(|model| model.id.to_lowercase().contains(&wanted));
    page::show(&ModelsPage {
        frame: context.frame("Models and prices", "/models"),
        models: models.map(|model| &**model).collect(),
        operations: operations(&context.service.config).filter(|(_, price)| *price > 0).collect(),
        query,
    })
}

/// The models behind an alias, in the order of preference; empty for another model.
pub(super) fn targets(model: &Model) -> String {
    if model.full_target().is_some() {
        return String::new();
    }
    let groups = model.groups.iter().map(|group| {
        let names: Vec<&str> = group.iter().map(|target| &*target.id).collect();
        names.join(" or ")
    });
    groups.collect::<Vec<_>>().join(", then ")
}

/// The prices of operations without a model.
pub(super) fn operations(config: &Config) -> impl Iterator<Item = (String, i64)> {
    Operation::all().map(|operation| {
        (operation.as_str().replace('_', " "), config.prices.default_of(operation))
    })
}

#[derive(Template)]
#[template(path = "console/playground.html")]
struct PlaygroundPage<'a> {
    frame: Frame,
    base_url: String,
    models: Vec<&'a Model>,
    chosen: &'a str,
}

pub(super) async fn playground(context: MemberContext) -> PageResult {
    let catalogue = context.service.upstreams.catalogue.load();
    page::show(&PlaygroundPage {
        frame: context.frame("Playground", "/playground"),
        base_url: context.service.config.base_url(),
        models: chat_models(&catalogue, &context.who.caller).collect(),
        chosen: context.param("model"),
    })
}

/// The models that a member can chat with now.
pub(super) fn chat_models<'a>(
    catalogue: &'a Catalogue,
    caller: &Caller,
) -> impl Iterator<Item = &'a Model> {
    let models = catalogue.models().map(|model| &**model);
    models.filter(|model| {
        model.is_for(Capability::Chat) && model.is_usable() && may_use(caller, &model.id)
    })
}

pub(super) async fn chat(context: MemberContext, request: Request) -> Response {
    let (head, sent) = request.into_parts();
    if context.check_script(&head.headers).is_err() {
        let message = "this request was not sent by a page of this service; reload the page";
        return ApiError::new(Code::OriginRefused, message).into_response();
    }
    let answered = async {
        let body = body::read(&context.service.config.limits, &head.headers, sent).await?;
        context.send(post("/v1/chat/completions", body)?).await
    };
    answered.await.unwrap_or_else(IntoResponse::into_response)
}

#[derive(Template)]
#[template(path = "console/connect.html")]
struct ConnectPage {
    frame: Frame,
    url: String,
    /// The model in the settings.
    model: String,
}

/// Settings to paste into other programs.
pub(super) async fn connect(context: MemberContext) -> PageResult {
    let model = context.service.upstreams.default_chat_model(&context.who.caller, None);
    page::show(&ConnectPage {
        frame: context.frame("Connect", "/connect"),
        url: context.service.config.base_url(),
        model: model.map_or_else(|| "PROVIDER/MODEL".to_owned(), |model| model.id.to_string()),
    })
}
