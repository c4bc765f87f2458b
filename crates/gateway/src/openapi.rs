//! The operations of the service: the table of both the routes and the OpenAPI document.
//!
//! A handler is added only together with its [`Operation`] ([`Routes::on`]), so that no path can be
//! missing in `/openapi.json`. Schemas of bodies come from the types of `wire`.

pub(crate) mod admin;
mod document;
pub(crate) mod media;
pub(crate) mod member;
pub(crate) mod messages;
pub(crate) mod openai;
pub(crate) mod operator;
pub(crate) mod research;
pub(crate) mod responses;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use wire::error::Code;

pub(crate) use document::document;

use crate::config::{Capability, Config};

#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) verb: Verb,
    /// As the document writes it.
    pub(crate) path: &'static str,
    /// The `operationId`.
    pub(crate) id: &'static str,
    summary: &'static str,
    description: &'static str,
    pub(crate) access: Access,
    parameters: &'static [&'static Parameter],
    body: Option<Body>,
    answers: &'static [SuccessResponse],
    /// Its failures, besides those of any operation of this access, with this body or with an
    /// `Idempotency-Key`.
    failures: &'static [Code],
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
struct Parameter {
    location: ParameterLocation,
    name: &'static str,
    description: &'static str,
    schema: Make,
    example: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParameterLocation {
    Path,
    /// The rest of the path, including slashes.
    Rest,
    Query,
    Header,
}

#[derive(Debug)]
struct Body {
    is_required: bool,
    media_type: &'static str,
    schema: Make,
    /// As JSON; empty for none.
    example: &'static str,
}

#[derive(Debug)]
struct SuccessResponse {
    status: u16,
    description: &'static str,
    contents: &'static [(&'static str, Make)],
    headers: &'static [&'static Header],
}

#[derive(Debug)]
struct Header {
    name: &'static str,
    description: &'static str,
    schema: Make,
}

const fn open(verb: Verb, path: &'static str, id: &'static str) -> Operation {
    Operation::new(Access::Open, verb, path, id)
}

const fn keyed(verb: Verb, path: &'static str, id: &'static str) -> Operation {
    Operation::new(Access::Key, verb, path, id)
}

impl Operation {
    const fn new(access: Access, verb: Verb, path: &'static str, id: &'static str) -> Self {
        Self {
            verb,
            path,
            id,
            summary: "",
            description: "",
            access,
            parameters: &[],
            body: None,
            answers: &[],
            failures: &[],
        }
    }

    const fn describe(self, summary: &'static str, description: &'static str) -> Self {
        Self { summary, description, ..self }
    }

    const fn parameters(self, parameters: &'static [&'static Parameter]) -> Self {
        Self { parameters, ..self }
    }

    /// Requires a JSON body.
    const fn body(self, schema: Make, example: &'static str) -> Self {
        self.with_body(Body { is_required: true, media_type: JSON, schema, example })
    }

    const fn with_body(self, body: Body) -> Self {
        Self { body: Some(body), ..self }
    }

    const fn answers(self, answers: &'static [SuccessResponse]) -> Self {
        Self { answers, ..self }
    }

    const fn failures(self, failures: &'static [Code]) -> Self {
        Self { failures, ..self }
    }

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

impl Parameter {
    const fn path(name: &'static str, description: &'static str, schema: Make) -> Self {
        Self { location: ParameterLocation::Path, name, description, schema, example: "" }
    }

    const fn query(name: &'static str, description: &'static str, schema: Make) -> Self {
        Self { location: ParameterLocation::Query, ..Self::path(name, description, schema) }
    }

    const fn header(name: &'static str, description: &'static str, schema: Make) -> Self {
        Self { location: ParameterLocation::Header, ..Self::path(name, description, schema) }
    }

    const fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }
}

impl Header {
    const fn new(name: &'static str, description: &'static str, schema: Make) -> Self {
        Self { name, description, schema }
    }
}

const fn answer(
    status: u16,
    description: &'static str,
    contents: &'static [(&'static str, Make)],
    headers: &'static [&'static Header],
) -> SuccessResponse {
    SuccessResponse { status, description, contents, headers }
}

/// A response whose JSON is a type of `wire`.
const fn returning<T: JsonSchema>(
    status: u16,
    description: &'static str,
    headers: &'static [&'static Header],
) -> SuccessResponse {
    answer(status, description, const { &[(JSON, of::<T> as Make)] }, headers)
}

/// The facts about this service in the document.
pub(crate) struct Offer<'a> {
    /// The public address.
    server: &'a str,
    /// The models of the examples, where the service has one.
    models: [(Capability, Option<String>); 7],
    /// Whether jobs may name a webhook.
    has_webhooks: bool,
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

type Make = fn(&mut SchemaGenerator) -> Schema;

pub(crate) const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn add_property(schema: &mut Schema, name: &str, property: Value) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(name.to_owned(), property);
    }
}

fn text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string" })
}

/// A stream of events: a text, or one event with its fields for readers that parse it.
fn events(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "object"] })
}

fn count(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 0 })
}

#[derive(Debug)]
pub(crate) struct Routes<S> {
    pub(crate) router: Router<S>,
    pub(crate) operations: Vec<&'static Operation>,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    pub(crate) fn new() -> Self {
        Self { router: Router::new(), operations: Vec::new() }
    }

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
}

impl Verb {
    const fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}
