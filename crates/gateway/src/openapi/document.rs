//! The document, version 3.1 of `OpenAPI`, from the table of operations.

use std::collections::BTreeMap;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use wire::error::{Code, ErrorBody};

use super::{
    Access, Header, JSON, Offer, Operation, Parameter, ParameterLocation, SuccessResponse, count,
    of, text,
};

/// The header of every response.
static REQUEST: Header = Header {
    name: "x-request-id",
    description: "Request id. Quote it when you contact the operator.",
    schema: text,
};
static RATE: &[&Header] = &[
    &Header {
        name: "x-ratelimit-limit-requests",
        description: "Request limit per minute, if the key has one.",
        schema: count,
    },
    &Header {
        name: "x-ratelimit-remaining-requests",
        description: "Remaining requests.",
        schema: count,
    },
    &Header {
        name: "x-ratelimit-reset-requests",
        description: "Time until the full limit is available again, such as `12s`.",
        schema: text,
    },
    &Header {
        name: "RateLimit-Policy",
        description: "The limit in the format of the IETF draft: `q` requests in `w` seconds.",
        schema: text,
    },
    &Header {
        name: "RateLimit",
        description: "The remaining limit in the format of the IETF draft: `r` requests remain, \
                      all are available again in `t` seconds.",
        schema: text,
    },
    &Header {
        name: "x-budget-limit-micros",
        description: "Amount of the budget with the least left, if the key, the member or the team has one.",
        schema: count,
    },
    &Header {
        name: "x-budget-remaining-micros",
        description: "What is left of this budget after the request.",
        schema: count,
    },
    &Header {
        name: "x-budget-scope",
        description: "What this budget limits: `key`, `member` or `team`.",
        schema: text,
    },
    &Header {
        name: "x-budget-resets-at",
        description: "When this budget resets, RFC 3339.",
        schema: text,
    },
];
static RETRY: Header =
    Header { name: "Retry-After", description: "Seconds to wait before a retry.", schema: count };
static CHALLENGE: Header =
    Header { name: "WWW-Authenticate", description: "`Bearer`.", schema: text };
static ALLOW: Header =
    Header { name: "Allow", description: "The methods that this path supports.", schema: text };

pub(crate) fn document(operations: &[&Operation], offer: &Offer<'_>) -> Value {
    // Responses and requests differ only in optional fields; the form of responses counts.
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        })
        .into_generator();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for operation in operations {
        let described = described(operation, &mut generator, offer);
        paths.entry(operation.path).or_default().insert(operation.verb.word().into(), described);
    }
    let mut schemas = generator.take_definitions(true);
    if !offer.has_webhooks {
        let fields =
            schemas.get_mut("ResearchRequest").and_then(|it| it["properties"].as_object_mut());
        fields.map(|fields| fields.remove("webhook_url"));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Member API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Models, chat and responses for members, priced per request. Amounts \
                            are whole micro-credits; 1 credit is 1000000 micro-credits.",
        },
        "servers": [{ "url": offer.server }],
        "tags": tags(operations),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "key": {
                    "type": "http", "scheme": "bearer",
                    "description": "A member's key, `agk_…`.",
                },
                "admin": {
                    "type": "http", "scheme": "bearer",
                    "description": "The operator's token.",
                },
            },
        },
    })
}

fn tags(operations: &[&Operation]) -> Value {
    let all = [Access::Key, Access::Admin, Access::Open];
    let used = all.into_iter().filter(|access| {
        let name = tag(*access).0;
        operations.iter().any(|operation| tag(operation.access).0 == name)
    });
    used.map(tag)
        .map(|(name, description)| json!({ "name": name, "description": description }))
        .collect()
}

fn tag(access: Access) -> (&'static str, &'static str) {
    match access {
        Access::Key => ("members", "Operations for members, with a key."),
        Access::Admin => ("admin", "Operations for operators, with the admin token."),
        Access::Open => ("service", "Public operations."),
    }
}

fn described(operation: &Operation, generator: &mut SchemaGenerator, offer: &Offer<'_>) -> Value {
    let parameters: Vec<Value> =
        operation.parameters.iter().map(|it| of_parameter(it, generator, offer)).collect();
    let mut described = json!({
        "operationId": operation.id,
        "tags": [tag(operation.access).0],
        "summary": operation.summary,
        "description": operation.description,
        "parameters": parameters,
        "responses": responses(operation, generator),
        "security": match operation.access {
            Access::Open => json!([]),
            Access::Key => json!([{ "key": [] }]),
            Access::Admin => json!([{ "admin": [] }]),
        },
    });
    if let Some(body) = &operation.body {
        let schema = (body.schema)(generator);
        let mut content = json!({ "schema": schema });
        let example = offer.fill(body.example);
        if let Some(example) = example.and_then(|text| serde_json::from_str::<Value>(&text).ok()) {
            content["example"] = example;
        }
        described["requestBody"] =
            json!({ "required": body.is_required, "content": { body.media_type: content } });
    }
    described
}

fn of_parameter(
    parameter: &Parameter,
    generator: &mut SchemaGenerator,
    offer: &Offer<'_>,
) -> Value {
    let (place, is_required) = match parameter.location {
        ParameterLocation::Path | ParameterLocation::Rest => ("path", true),
        ParameterLocation::Query => ("query", false),
        ParameterLocation::Header => ("header", false),
    };
    let mut described = json!({
        "name": parameter.name,
        "in": place,
        "required": is_required,
        "description": parameter.description,
        "schema": (parameter.schema)(generator),
    });
    if let Some(example) = offer.fill(parameter.example).filter(|example| !example.is_empty()) {
        described["example"] = example.into();
    }
    described
}

fn responses(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let mut responses = Map::new();
    for answer in operation.answers {
        responses.insert(answer.status.to_string(), success(operation, answer, generator));
    }
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in failures(operation) {
        by_status.entry(code.status()).or_default().push(code);
    }
    for (status, codes) in by_status {
        responses.insert(status.to_string(), failure(status, &codes, operation.access, generator));
    }
    responses.into()
}

/// All failures, in the order of [`Code::ALL`].
fn failures(operation: &Operation) -> Vec<Code> {
    let of_access: &[Code] = match operation.access {
        Access::Open => &[],
        Access::Admin => &[Code::InvalidKey, Code::Unavailable],
        // Every operation with a key may have a price.
        Access::Key => &[
            Code::InvalidKey,
            Code::InsufficientBalance,
            Code::KeyLimitReached,
            Code::BudgetReached,
            Code::MemberBlocked,
            Code::RateLimited,
            Code::Unavailable,
        ],
    };
    let anywhere = [Code::MethodNotAllowed, Code::Internal, Code::Draining];
    let is_possible = |code: &Code| {
        of_access.contains(code) || anywhere.contains(code) || operation.failures.contains(code)
    };
    Code::ALL.iter().copied().filter(is_possible).collect()
}

fn success(
    operation: &Operation,
    answer: &SuccessResponse,
    generator: &mut SchemaGenerator,
) -> Value {
    let mut headers: Vec<&Header> = vec![&REQUEST];
    headers.extend(answer.headers);
    if operation.access == Access::Key {
        headers.extend(RATE);
    }
    let contents = answer.contents.iter().map(|(media_type, schema)| {
        ((*media_type).to_owned(), json!({ "schema": schema(generator) }))
    });
    let contents: Map<String, Value> = contents.collect();
    json!({
        "description": answer.description,
        "headers": of_headers(&headers, generator),
        "content": contents,
    })
}

fn failure(status: u16, codes: &[Code], access: Access, generator: &mut SchemaGenerator) -> Value {
    let mut headers: Vec<&Header> = vec![&REQUEST];
    match status {
        401 => headers.push(&CHALLENGE),
        405 => headers.push(&ALLOW),
        409 | 503 => headers.push(&RETRY),
        429 if access == Access::Key => {
            headers.push(&RETRY);
            headers.extend(RATE);
        }
        _ => {}
    }
    let meanings: Vec<String> =
        codes.iter().map(|code| format!("`{}`: {}", code.word(), code.meaning())).collect();
    json!({
        "description": meanings.join(" "),
        "headers": of_headers(&headers, generator),
        "content": { JSON: { "schema": of::<ErrorBody>(generator) } },
    })
}

fn of_headers(headers: &[&Header], generator: &mut SchemaGenerator) -> Value {
    let described = headers.iter().map(|header| {
        let schema = (header.schema)(generator);
        let described = json!({ "description": header.description, "schema": schema });
        (header.name.to_owned(), described)
    });
    Value::Object(described.collect())
}
