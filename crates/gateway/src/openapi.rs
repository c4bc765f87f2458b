//! The OpenAPI document: the operations of `openapi.yaml` that the service routes, with the
//! parts common to all operations of a tag.
//!
//! A handler is added by [`Routes`], which records its operation, so `/openapi.json` has every
//! path. Schemas of bodies come from the types of `wire`.

use std::collections::BTreeMap;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{self, MethodRouter};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use settings::Node;
use wire::account::{Me, ReceiptView};
use wire::admin::{
    Adjustment, AlertView, AuditView, IssuedKey, KeyBody, KeyRecordView, LedgerCheckView,
    MemberPatch, MemberReceipt, MemberView, NewMember, NewTeam, OfferedModel, Page as List,
    PostingView, ProviderView, ReloadView, Rotation, StatementView, TeamPatch, TeamView, TopUp,
};
use wire::capability::CapabilityList;
use wire::download::Manifest;
use wire::error::{Code, ErrorBody};
use wire::media::MediaRun;
use wire::model::{Model, ModelList};
use wire::research::{JobList, JobView, ResearchRequest};
use wire::search::{SearchAnswer, SearchRequest};
use wire::usage::UsageList;
use wire::web::{Page, PageRequest};

use crate::config::{Capability, Config};

pub(crate) const JSON: &str = "application/json";
/// Prefix of references to schemas.
const SCHEMAS: &str = "#/components/schemas/";
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// The types of bodies, for their schemas.
type Bodies = (
    (Me, ReceiptView, CapabilityList, Manifest, ErrorBody, MediaRun, Model, ModelList),
    (JobList, JobView, ResearchRequest, SearchAnswer, SearchRequest, UsageList, Page, PageRequest),
    (MemberView, List<MemberView>, NewMember, MemberPatch, MemberReceipt),
    (TeamView, List<TeamView>, NewTeam, TeamPatch, TopUp, Adjustment, PostingView),
    (KeyRecordView, List<KeyRecordView>, KeyBody, Rotation, IssuedKey),
    (List<StatementView>, List<AuditView>, LedgerCheckView, ReloadView),
    (AlertView, List<AlertView>, ProviderView, List<ProviderView>, List<OfferedModel>),
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operation {
    /// In lower case.
    pub(crate) verb: &'static str,
    /// As written in the document.
    pub(crate) path: &'static str,
    /// The path in the syntax of the router.
    pub(crate) route: &'static str,
}

impl Operation {
    pub(crate) const fn new(verb: &'static str, path: &'static str) -> Self {
        Self { verb, path, route: path }
    }
}

#[derive(Debug)]
pub(crate) struct Routes<S> {
    pub(crate) router: Router<S>,
    pub(crate) operations: Vec<Operation>,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    pub(crate) fn new() -> Self {
        Self { router: Router::new(), operations: Vec::new() }
    }

    pub(crate) fn get<T: 'static>(self, path: &'static str, handler: impl Handler<T, S>) -> Self {
        self.add(Operation::new("get", path), routing::get(handler))
    }

    /// A path whose route matches slashes in its last part.
    pub(crate) fn get_any<T: 'static>(
        self,
        (path, route): (&'static str, &'static str),
        handler: impl Handler<T, S>,
    ) -> Self {
        self.add(Operation { verb: "get", path, route }, routing::get(handler))
    }

    pub(crate) fn post<T: 'static>(self, path: &'static str, handler: impl Handler<T, S>) -> Self {
        self.add(Operation::new("post", path), routing::post(handler))
    }

    pub(crate) fn patch<T: 'static>(self, path: &'static str, handler: impl Handler<T, S>) -> Self {
        self.add(Operation::new("patch", path), routing::patch(handler))
    }

    pub(crate) fn delete<T: 'static>(
        self,
        path: &'static str,
        handler: impl Handler<T, S>,
    ) -> Self {
        self.add(Operation::new("delete", path), routing::delete(handler))
    }

    fn add(mut self, operation: Operation, handler: MethodRouter<S>) -> Self {
        self.router = self.router.route(operation.route, handler);
        self.operations.push(operation);
        self
    }
}

/// `openapi.yaml`. A test reads it, so that it is never null.
fn source() -> Value {
    let node = Node::from_yaml(include_str!("openapi.yaml"));
    node.map_or(Value::Null, |node| node.to_json())
}

/// The document of a service with these operations.
pub(crate) fn document(operations: &[Operation], config: &Config) -> Value {
    let mut document = source();
    let shared = document["x-shared"].take();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for Operation { verb, path, .. } in operations {
        let mut operation = document["paths"][path][verb].take();
        complete(&mut operation, &shared["headers"]);
        fill_examples(&mut operation, config);
        paths.entry(*path).or_default().insert((*verb).to_owned(), operation);
    }
    let mut schemas = schemas(&json!(paths));
    if config.research.webhook_secret.is_none()
        && let Some(fields) = schemas.get_mut("ResearchRequest")
    {
        fields["properties"].as_object_mut().map(|fields| fields.remove("webhook_url"));
    }
    if let Some(fields) = document.as_object_mut() {
        fields.remove("x-shared");
    }
    if let Some(tags) = document["tags"].as_array_mut() {
        tags.retain(|tag| {
            let mut all = paths.values().flat_map(Map::values);
            all.any(|operation| operation["tags"][0] == tag["name"])
        });
    }
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    document["servers"] = json!([{ "url": config.base_url() }]);
    document["components"]["schemas"] = schemas.into();
    document["paths"] = json!(paths);
    document
}

/// Adds the parts common to all operations of a tag: credentials, headers and errors.
fn complete(operation: &mut Value, headers: &Value) {
    const NONE: &[&str] = &[];
    const ID: &[&str] = &["x-request-id"];
    let tag = operation["tags"][0].as_str().unwrap_or_default().to_owned();
    operation["security"] = match tag.as_str() {
        "members" => json!([{ "key": [] }]),
        "admin" => json!([{ "admin": [] }]),
        _ => json!([]),
    };
    let described = |names: &[&str]| -> Map<String, Value> {
        names.iter().map(|name| ((*name).to_owned(), headers[*name].clone())).collect()
    };
    let limits = if tag == "members" { LIMITS } else { NONE };
    for (_, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        let mut headers = described(&[ID, limits].concat());
        headers.extend(response["headers"].as_object().cloned().unwrap_or_default());
        response["headers"] = headers.into();
    }
    for (status, codes) in errors(operation, &tag) {
        let (own, limits): (&[&str], _) = match status {
            401 => (&["WWW-Authenticate"], NONE),
            405 => (&["Allow"], NONE),
            409 | 503 => (&["Retry-After"], NONE),
            429 if tag == "members" => (&["Retry-After"], limits),
            _ => (NONE, NONE),
        };
        let meanings: Vec<String> =
            codes.iter().map(|code| format!("`{}`: {}", code.as_str(), code.meaning())).collect();
        operation["responses"][status.to_string()] = json!({
            "description": meanings.join(" "),
            "headers": described(&[ID, own, limits].concat()),
            "content": { JSON: { "schema": { "$ref": format!("{SCHEMAS}ErrorBody") } } },
        });
    }
    operation.as_object_mut().map(|fields| fields.remove("x-errors"));
}

/// The headers of responses to requests with a key.
const LIMITS: &[&str] = &[
    "x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests",
    "RateLimit-Policy", "RateLimit", "x-budget-limit-micros", "x-budget-remaining-micros",
    "x-budget-scope", "x-budget-resets-at",
];

/// All errors of an operation by their status.
fn errors(operation: &Value, tag: &str) -> BTreeMap<u16, Vec<Code>> {
    let of_tag: &[Code] = match tag {
        "admin" => &[Code::InvalidKey, Code::Unavailable],
        // Every operation with a key may have a price.
        "members" => &[
            Code::InvalidKey,
            Code::InsufficientBalance,
            Code::KeyLimitReached,
            Code::BudgetReached,
            Code::MemberBlocked,
            Code::RateLimited,
            Code::Unavailable,
        ],
        _ => &[],
    };
    let of_body: &[Code] = match &operation["requestBody"] {
        Value::Null => &[],
        _ => &[Code::InvalidJson, Code::InvalidRequest, Code::BodyTimeout, Code::BodyTooLarge],
    };
    let mut parameters = operation["parameters"].as_array().into_iter().flatten();
    let is_idempotent = parameters.any(|it| it["name"] == IDEMPOTENCY_KEY);
    let of_idempotency: &[Code] =
        if is_idempotent { &[Code::IdempotencyInProgress, Code::IdempotencyMismatch] } else { &[] };
    let anywhere = &[Code::MethodNotAllowed, Code::Internal, Code::Draining];
    let possible = [of_tag, of_body, of_idempotency, anywhere].concat();
    let own: Vec<&str> =
        operation["x-errors"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in Code::ALL {
        if possible.contains(code) || own.contains(&code.as_str()) {
            by_status.entry(code.status()).or_default().push(*code);
        }
    }
    by_status
}

/// Names models of the service in the examples; without a suitable model there is no example.
fn fill_examples(value: &mut Value, config: &Config) {
    match value {
        Value::Object(fields) => {
            if fields.get_mut("example").is_some_and(|example| !fill(example, config)) {
                fields.remove("example");
            }
            fields.values_mut().for_each(|field| fill_examples(field, config));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill_examples(item, config)),
        _ => {}
    }
}

/// Replaces placeholders such as `{chat model}`; returns whether there are models for all of them.
fn fill(example: &mut Value, config: &Config) -> bool {
    match example {
        Value::Object(fields) => fields.values_mut().all(|field| fill(field, config)),
        Value::Array(items) => items.iter_mut().all(|item| fill(item, config)),
        Value::String(text) => {
            let wanted = text.strip_prefix('{').and_then(|text| text.strip_suffix(" model}"));
            let Some(wanted) = wanted else { return true };
            let mut all = config.providers.iter().flat_map(|provider| {
                provider.models.iter().map(|model| (provider.name.as_str(), model))
            });
            let is_able = |able: &Capability| able.as_str() == wanted;
            let found = all.find(|(_, model)| model.capabilities.iter().any(is_able));
            let named = found.map(|(provider, model)| format!("{provider}/{}", model.id));
            named.map(|name| *text = name).is_some()
        }
        _ => true,
    }
}

/// The schemas that the paths refer to, directly or through others.
fn schemas(paths: &Value) -> Map<String, Value> {
    // Responses and requests differ only in optional fields; the response schema is used.
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        })
        .into_generator();
    generator.subschema_for::<Bodies>();
    let (all, mut found) = (generator.take_definitions(true), Map::new());
    gather(paths, &all, &mut found);
    found
}

fn gather(value: &Value, all: &Map<String, Value>, found: &mut Map<String, Value>) {
    match value {
        Value::Object(fields) => {
            let target =
                fields.get("$ref").and_then(|target| target.as_str()?.strip_prefix(SCHEMAS));
            if let Some((name, schema)) = target.and_then(|name| all.get_key_value(name))
                && found.insert(name.clone(), schema.clone()).is_none()
            {
                gather(schema, all, found);
            }
            fields.values().for_each(|field| gather(field, all, found));
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, all, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
