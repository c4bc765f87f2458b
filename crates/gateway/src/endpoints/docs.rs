//! `GET /openapi.json` and `GET /docs`: the description of the service.

use std::sync::{Arc, LazyLock};

use askama::Template;
use axum::extract::State;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use pages::{Frame, escape};
use serde_json::{Map, Value};

use super::{AppState, check_host, console, json_text};
use crate::config::Config;
use crate::failure::ApiError;
use crate::openapi::{self, Operation, Routes};

const DOCUMENT: &str = "/openapi.json";
const PAGE: &str = "/docs";

/// Adds both to all other routes; they also describe themselves.
pub(super) fn describe(routes: Routes<AppState>, config: &Arc<Config>) -> Routes<AppState> {
    let (mut operations, config) = (routes.operations.clone(), config.clone());
    operations.extend([DOCUMENT, PAGE].map(|path| Operation::new("get", path)));
    // Built on the first request: most processes get none.
    let made = Arc::new(LazyLock::new(move || {
        let document = openapi::document(&operations, &config);
        let page = render(&document, console::assets().path());
        (Bytes::from(document.to_string()), page)
    }));
    let shown = made.clone();
    routes
        .get(DOCUMENT, move |State(service): State<AppState>, headers: HeaderMap| async move {
            check_host(&service.config, &headers)?;
            let mut response = json_text(made.0.clone());
            pages::secure(response.headers_mut());
            Ok::<_, ApiError>(response)
        })
        .get(PAGE, move |State(service): State<AppState>, headers: HeaderMap| async move {
            check_host(&service.config, &headers)?;
            Ok::<_, ApiError>(pages::html(StatusCode::OK, shown.1.clone()))
        })
}

const MAX_DEPTH: usize = 4;

#[derive(Template)]
#[template(path = "docs.html")]
struct Page {
    frame: Frame,
    title: String,
    version: String,
    description: String,
    server: String,
    groups: Vec<Group>,
}

struct Group {
    name: String,
    description: String,
    operations: Vec<OperationView>,
}

struct OperationView {
    id: String,
    method: String,
    path: String,
    summary: String,
    description: String,
    parameters: Vec<Row>,
    body: Vec<Row>,
    answers: Vec<ResponseView>,
    failures: Vec<ResponseView>,
    curl: String,
}

struct ResponseView {
    status: String,
    description: String,
    media_types: Vec<String>,
    headers: Vec<Row>,
    fields: Vec<Row>,
}

struct Row {
    name: String,
    kind: String,
    is_required: bool,
    text: String,
    depth: usize,
}

fn render(document: &Value, assets: String) -> String {
    let info = &document["info"];
    let groups = list(&document["tags"]).iter().map(|tag| group(document, tag)).collect();
    let frame = Frame {
        title: "Reference".to_owned(),
        site: string(&info["title"]),
        assets,
        ..Frame::default()
    };
    let page = Page {
        frame,
        title: string(&info["title"]),
        version: string(&info["version"]),
        description: prose(&string(&info["description"])),
        server: string(&document["servers"][0]["url"]),
        groups,
    };
    page.render().unwrap_or_default()
}

fn group(document: &Value, tag: &Value) -> Group {
    let mut operations = Vec::new();
    for (path, methods) in fields(&document["paths"]) {
        for (method, operation) in fields(methods) {
            if operation["tags"][0] == tag["name"] {
                operations.push(operation_view(document, path, method, operation));
            }
        }
    }
    Group { name: string(&tag["name"]), description: string(&tag["description"]), operations }
}

fn operation_view(document: &Value, path: &str, method: &str, operation: &Value) -> OperationView {
    let content = &operation["requestBody"]["content"]["application/json"];
    let mut body = Vec::new();
    describe_fields(document, &content["schema"], 0, &mut body);
    let (failures, answers): (Vec<_>, Vec<_>) = fields(&operation["responses"])
        .map(|(status, answer)| answered(document, status, answer))
        .partition(|answer| answer.status.starts_with(['4', '5']));
    OperationView {
        id: string(&operation["operationId"]),
        method: method.to_uppercase(),
        path: path.to_owned(),
        summary: string(&operation["summary"]),
        description: prose(&string(&operation["description"])),
        parameters: list(&operation["parameters"]).iter().map(parameter).collect(),
        body,
        answers,
        failures,
        curl: curl(document, path, method, operation),
    }
}

fn credential(operation: &Value) -> &'static str {
    match fields(&operation["security"][0]).next() {
        Some(("admin", _)) => "AGENT_ADMIN_TOKEN",
        Some(_) => "AGENT_API_KEY",
        None => "",
    }
}

fn parameter(parameter: &Value) -> Row {
    let place = string(&parameter["in"]);
    Row {
        name: string(&parameter["name"]),
        kind: format!("{}, in the {place}", kind(&parameter["schema"])),
        is_required: parameter["required"] == true,
        text: prose(&string(&parameter["description"])),
        depth: 0,
    }
}

fn answered(document: &Value, status: &str, answer: &Value) -> ResponseView {
    let mut rows = Vec::new();
    if status.starts_with('2') {
        describe_fields(document, &answer["content"]["application/json"]["schema"], 0, &mut rows);
    }
    let headers = fields(&answer["headers"]).map(|(name, header)| Row {
        name: name.to_owned(),
        kind: kind(&header["schema"]),
        is_required: false,
        text: prose(&string(&header["description"])),
        depth: 0,
    });
    ResponseView {
        status: status.to_owned(),
        description: prose(&string(&answer["description"])),
        media_types: fields(&answer["content"]).map(|(name, _)| name.to_owned()).collect(),
        headers: headers.collect(),
        fields: rows,
    }
}

fn describe_fields(document: &Value, schema: &Value, depth: usize, rows: &mut Vec<Row>) {
    if depth >= MAX_DEPTH {
        return;
    }
    let schema = resolved(document, schema);
    let required = list(&schema["required"]);
    for (name, field) in fields(&schema["properties"]) {
        let inner = resolved(document, field);
        let text = [&field["description"], &inner["description"]];
        let text = text.iter().find_map(|text| text.as_str()).unwrap_or_default();
        rows.push(Row {
            name: name.to_owned(),
            kind: kind(inner),
            is_required: required.iter().any(|required| required == name),
            text: prose(text),
            depth,
        });
        describe_fields(document, inner, depth + 1, rows);
        describe_fields(document, &inner["items"], depth + 1, rows);
    }
}

fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    target.and_then(|path| document.pointer(path)).unwrap_or(schema)
}

fn kind(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(literal).collect::<Vec<_>>().join(" | ");
    }
    if !schema["const"].is_null() {
        return literal(&schema["const"]);
    }
    let mut words = match &schema["type"] {
        Value::Array(types) => types.iter().map(string).collect::<Vec<_>>().join(" or "),
        other => string(other),
    };
    let bounds = [("minimum", "from"), ("maximum", "to"), ("maxLength", "at most")];
    for (name, word) in bounds {
        match &schema[name] {
            Value::Number(bound) if name != "minimum" || bound.as_i64() != Some(0) => {
                words.push_str(&format!(" {word} {bound}"));
            }
            _ => {}
        }
    }
    words
}

fn literal(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn curl(document: &Value, path: &str, method: &str, operation: &Value) -> String {
    let server = string(&document["servers"][0]["url"]);
    let mut address = path.to_owned();
    for parameter in list(&operation["parameters"]) {
        if let Some(example) = parameter["example"].as_str() {
            let name = string(&parameter["name"]);
            address = address.replace(&format!("{{{name}}}"), example);
        }
    }
    let mut line = format!("curl {server}{address}");
    if method != "get" {
        line = format!("curl -X {} {server}{address}", method.to_uppercase());
    }
    let credential = credential(operation);
    if !credential.is_empty() {
        line.push_str(&format!(" \\\n  -H \"Authorization: Bearer ${credential}\""));
    }
    let example = &operation["requestBody"]["content"]["application/json"]["example"];
    if !example.is_null() {
        let body = example.to_string().replace('\'', "'\\''");
        line.push_str(&format!(" \\\n  -H 'Content-Type: application/json' \\\n  -d '{body}'"));
    }
    line
}

/// Text as HTML; text between backticks is code.
fn prose(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for (index, piece) in text.split('`').enumerate() {
        if index % 2 == 1 {
            html.push_str(&format!("<code>{}</code>", escape(piece)));
        } else {
            html.push_str(&escape(piece));
        }
    }
    html
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn fields(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter).map(|(name, value)| (name.as_str(), value))
}

#[cfg(test)]
mod tests;
