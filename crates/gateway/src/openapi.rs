//! The operations of the service: the table of both the routes and the OpenAPI document.
//!
//! A handler is added only together with its [`Operation`] ([`Routes::on`]), so that no path can be
//! missing in `/openapi.json`. Schemas of bodies come from the types of `wire`.

pub(crate) mod admin;
mod document;
pub(crate) mod downloads;
pub(crate) mod media;
pub(crate) mod member;
pub(crate) mod messages;
pub(crate) mod openai;
pub(crate) mod operator;
pub(crate) mod research;
pub(crate) mod responses;
pub(crate) mod search;
pub(crate) mod web;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use wire::error::Code;

pub(crate) use document::document;

use crate::config::{Capability, Config};

/// One method of one path.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) verb: Verb,
    /// As the document writes it.
    pub(crate) path: &'static str,
    /// The `operationId`.
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) description: &'static str,
    pub(crate) access: Access,
    pub(crate) parameters: &'static [&'static Parameter],
    pub(crate) body: Option<Body>,
    pub(crate) answers: &'static [SuccessResponse],
    /// Its failures, besides those of any operation.
    pub(crate) failures: &'static [Code],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Patch,
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Open,
    /// A key is required, and its rate is counted.
    Key,
    /// The operator's token is required.
    Admin,
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) location: ParameterLocation,
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: Make,
    pub(crate) example: &'static str,
}

/// The location of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterLocation {
    /// One segment of the path.
    Path,
    /// The rest of the path, including slashes.
    Rest,
    Query,
    Header,
}

#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) is_required: bool,
    pub(crate) media_type: &'static str,
    pub(crate) schema: Make,
    /// As JSON; empty for none.
    pub(crate) example: &'static str,
}

/// A successful response.
#[derive(Debug)]
pub(crate) struct SuccessResponse {
    pub(crate) status: u16,
    pub(crate) description: &'static str,
    /// Media types and their schemas.
    pub(crate) contents: &'static [(&'static str, Make)],
    pub(crate) headers: &'static [&'static Header],
}

/// The defaults of operations: a member's request without a body.
pub(crate) const PLAIN: Operation = Operation {
    verb: Verb::Get,
    path: "",
    id: "",
    summary: "",
    description: "",
    access: Access::Key,
    parameters: &[],
    body: None,
    answers: &[],
    failures: &[],
};

pub(crate) const fn answer(
    status: u16,
    description: &'static str,
    contents: &'static [(&'static str, Make)],
    headers: &'static [&'static Header],
) -> SuccessResponse {
    SuccessResponse { status, description, contents, headers }
}

pub(crate) const fn json_body(schema: Make, example: &'static str) -> Body {
    Body { is_required: true, media_type: JSON, schema, example }
}

/// A header of responses.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: Make,
}

/// The facts about this service in the document.
pub(crate) struct Offer<'a> {
    /// Its public address.
    pub(crate) server: &'a str,
    /// The models of the examples, where the service has one.
    models: [(Capability, Option<String>); 7],
    /// Whether jobs may name a webhook.
    pub(crate) has_webhooks: bool,
}

impl<'a> Offer<'a> {
    /// The facts of a configuration.
    pub(crate) fn new(config: &Config, server: &'a str) -> Self {
        let model = |capability: Capability| {
            let mut all = config
                .providers
                .iter()
                .flat_map(|provider| provider.models.iter().map(|model| (&provider.name, model)));
            let found = all.find(|(_, model)| model.capabilities.contains(&capability));
            found.map(|(provider, model)| format!("{provider}/{}", model.id))
        };
        Self {
            server,
            models: [
                Capability::Chat,
                Capability::Image,
                Capability::Speech,
                Capability::Transcription,
                Capability::Embeddings,
                Capability::Moderation,
                Capability::Rerank,
            ]
            .map(|capability| (capability, model(capability))),
            has_webhooks: config.research.webhook_secret.is_some(),
        }
    }

    /// An example with existing model names; `None` without a suitable model.
    fn fill(&self, example: &str) -> Option<String> {
        let quoted = |name: &str| name.replace('\\', "\\\\").replace('"', "\\\"");
        self.models.iter().try_fold(example.to_owned(), |example, (capability, model)| {
            let placeholder = format!("{{{} model}}", capability.word());
            if !example.contains(&placeholder) {
                return Some(example);
            }
            Some(example.replace(&placeholder, &quoted(model.as_deref()?)))
        })
    }
}

pub(crate) type Make = fn(&mut SchemaGenerator) -> Schema;

pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENTS: &str = "text/event-stream";

/// The schema of a type of `wire`.
pub(crate) fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

pub(crate) fn text(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": "string" })
}

/// A stream of events: a text, or one event with its fields for readers that parse it.
pub(crate) fn events(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": ["string", "object"] })
}

/// A non-negative integer.
pub(crate) fn count(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": "integer", "minimum": 0 })
}

/// The routes of the service, each with its operation.
#[derive(Debug)]
pub(crate) struct Routes<S> {
    router: Router<S>,
    operations: Vec<&'static Operation>,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    pub(crate) fn new() -> Self {
        Self { router: Router::new(), operations: Vec::new() }
    }

    /// Adds the handler of an operation.
    pub(crate) fn on<H, T>(mut self, operation: &'static Operation, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        let filter = match operation.verb {
            Verb::Get => MethodFilter::GET,
            Verb::Post => MethodFilter::POST,
            Verb::Patch => MethodFilter::PATCH,
            Verb::Delete => MethodFilter::DELETE,
        };
        self.router = self.router.route(&operation.route(), on(filter, handler));
        self.operations.push(operation);
        self
    }

    pub(crate) fn operations(&self) -> &[&'static Operation] {
        &self.operations
    }

    pub(crate) fn into_router(self) -> Router<S> {
        self.router
    }
}

impl Operation {
    /// The path in the syntax of the router.
    pub(crate) fn route(&self) -> String {
        let rest =
            self.parameters.iter().find(|parameter| parameter.location == ParameterLocation::Rest);
        rest.map_or_else(
            || self.path.to_owned(),
            |rest| self.path.replace(&format!("{{{}}}", rest.name), &format!("{{*{}}}", rest.name)),
        )
    }
}

impl Verb {
    /// As the document writes it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}
