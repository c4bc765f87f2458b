//! Chat with models in the browser. The page sends requests with its session; they are charged as
//! requests with the key of the session.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::Request;
use pages::{Frame, credits};
use wire::error::Code;

use super::super::body;
use super::super::internal_call::{InternalCalls, InternalRequest};
use super::context::MemberContext;
use super::page::{self, PageError};
use crate::config::{Capability, Operation};
use crate::failure::ApiError;
use crate::identity::may_use;
use crate::upstreams::Upstreams;

#[derive(Template)]
#[template(path = "console/playground.html")]
struct PlaygroundPage {
    frame: Frame,
    csrf: String,
    base_url: String,
    models: Vec<(String, String)>,
    chosen: String,
}

pub(super) async fn show(
    context: MemberContext,
    State(upstreams): State<Arc<Upstreams>>,
) -> Result<Response, PageError> {
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

/// Sends a chat request of the page to the API, as the member.
pub(super) async fn chat(
    context: MemberContext,
    Extension(calls): Extension<Arc<InternalCalls>>,
    request: Request<Body>,
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
