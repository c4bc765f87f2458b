//! The operations of the service: one table from which both the routes and the document come.
//!
//! A handler is put on a path only together with its [`Operation`] ([`Routes::on`]), so that no path
//! can be missing in `/openapi.json`. Schemas of bodies are made from the types of `wire`.

pub(crate) mod admin;
mod document;
pub(crate) mod downloads;
pub(crate) mod media;
pub(crate) mod member;
pub(crate) mod operator;
pub(crate) mod research;
pub(crate) mod responses;
pub(crate) mod search;
pub(crate) mod web;

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use wire::error::Code;

pub(crate) use document::document;

use crate::config::{Capability, Config};
use crate::service::Service;

/// What can be asked at one path by one method.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) verb: Verb,
    /// As the document writes it.
    pub(crate) path: &'static str,
    /// What programs call it.
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) description: &'static str,
    pub(crate) access: Access,
    pub(crate) parameters: &'static [&'static Parameter],
    pub(crate) body: Option<Body>,
    pub(crate) answers: &'static [Answer],
    /// What can go wrong, besides what can go wrong anywhere.
    pub(crate) failures: &'static [Code],
}

/// The method of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Patch,
    Delete,
}

/// Who may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Anybody.
    Open,
    /// Whoever has a key; it counts against the key's rate.
    Key,
    /// The operator.
    Admin,
}

/// A parameter.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) place: Place,
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: Make,
    pub(crate) example: &'static str,
}

/// Where a parameter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// One segment of the path.
    Path,
    /// The rest of the path, slashes too.
    Rest,
    Query,
    Header,
}

/// The body of a request.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) is_required: bool,
    pub(crate) schema: Make,
    /// As JSON.
    pub(crate) example: &'static str,
}

/// A success.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) description: &'static str,
    /// Media types and what they hold.
    pub(crate) contents: &'static [(&'static str, Make)],
    pub(crate) headers: &'static [&'static Header],
}

/// A header of answers.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: Make,
}

/// What the document tells of this service.
pub(crate) struct Offer<'a> {
    /// Where it is reached.
    pub(crate) server: &'a str,
    /// The models of the examples: one that chats, one that paints.
    pub(crate) chat_model: String,
    pub(crate) image_model: String,
    /// Whether jobs may name a webhook.
    pub(crate) has_webhooks: bool,
}

impl<'a> Offer<'a> {
    /// What a configuration offers. Without such a model the examples have a placeholder.
    pub(crate) fn new(config: &Config, server: &'a str) -> Self {
        let model = |capability: Capability| {
            let mut all = config
                .providers
                .iter()
                .flat_map(|provider| provider.models.iter().map(|model| (&provider.name, model)));
            let found = all.find(|(_, model)| model.capabilities.contains(&capability));
            found.map_or_else(
                || "PROVIDER/MODEL".to_owned(),
                |(provider, model)| format!("{provider}/{}", model.id),
            )
        };
        Self {
            server,
            chat_model: model(Capability::Chat),
            image_model: model(Capability::Image),
            has_webhooks: config.research.webhook_secret.is_some(),
        }
    }

    /// An example with the names of models that there are.
    fn fill(&self, example: &str) -> String {
        let quoted = |name: &str| name.replace('\\', "\\\\").replace('"', "\\\"");
        example
            .replace("{chat model}", &quoted(&self.chat_model))
            .replace("{image model}", &quoted(&self.image_model))
    }
}

/// Makes a schema.
pub(crate) type Make = fn(&mut SchemaGenerator) -> Schema;

/// JSON.
pub(crate) const JSON: &str = "application/json";
/// Server-sent events.
pub(crate) const EVENTS: &str = "text/event-stream";

/// The schema of a type of `wire`.
pub(crate) fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Any text.
pub(crate) fn text(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": "string" })
}

/// A stream of events: a text, or for readers who take it apart, one event with its fields.
pub(crate) fn events(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": ["string", "object"] })
}

/// A whole number, not below zero.
pub(crate) fn count(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": "integer", "minimum": 0 })
}

/// The routes of the service, each with its operation.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    router: Router<Arc<Service>>,
    operations: Vec<&'static Operation>,
}

impl Routes {
    /// Puts a handler where its operation says.
    pub(crate) fn on<H, T>(mut self, operation: &'static Operation, handler: H) -> Self
    where
        H: Handler<T, Arc<Service>>,
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

    /// What can be asked so far.
    pub(crate) fn operations(&self) -> &[&'static Operation] {
        &self.operations
    }

    /// The routes alone.
    pub(crate) fn into_router(self) -> Router<Arc<Service>> {
        self.router
    }
}

impl Operation {
    /// The path as the router writes it.
    pub(crate) fn route(&self) -> String {
        let rest = self.parameters.iter().find(|parameter| parameter.place == Place::Rest);
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
