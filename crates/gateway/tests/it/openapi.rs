//! The document says what the service does, no more and no less.

use std::sync::Arc;

use agent_test_support::browser::{Browser, ColorScheme};
use agent_test_support::sdk;
use agent_test_support::upstream::Upstream;
use gateway::Service;
use http::Method;
use serde_json::Value;

use crate::fixture::provider;
use crate::site::Names;
use crate::support::{ADMIN_TOKEN, Running, plain};

/// How many requests schemathesis makes up for each operation, in each of its ways.
const MAX_EXAMPLES: u32 = 8;

/// The paths of the document, each with its methods.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap();
        methods.iter().map(|(verb, said)| (path.clone(), verb.clone(), said.clone()))
    });
    all.collect()
}

/// A path with something in the place of its parameters.
fn filled(path: &str) -> String {
    path.replace("{id}", "something")
}

fn document(service: &Running) -> Value {
    let answer = service.send(Method::GET, "/openapi.json", None, None);
    assert_eq!(answer.header("content-type"), "application/json");
    answer.good()
}

#[test]
fn every_described_operation_exists_and_needs_its_credential() {
    let upstream = Upstream::start();
    let service = Running::plain(&upstream);
    let document = document(&service);
    let operations = operations(&document);
    assert!(operations.len() > 20, "{operations:?}");
    for (path, verb, said) in operations {
        let method = Method::from_bytes(verb.to_uppercase().as_bytes()).unwrap();
        let answer = service.send(method, &filled(&path), None, None);
        let is_open = said["security"].as_array().unwrap().is_empty();
        assert_eq!(answer.status, if is_open { 200 } else { 401 }, "{verb} {path}");
        assert!(said["responses"][answer.status.to_string()].is_object(), "{verb} {path}");
    }
}

#[test]
fn every_route_is_described_and_every_description_has_a_route() {
    let upstream = Upstream::start();
    let text = plain(&upstream, &["echo"], "public_url: https://ai.example.com\ndownloads: {}\n");
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let with_client = |service: &Service| service.offer_client_document("{}".into());
    let service = Running::start_after(folder, &text, with_client);
    let operations = operations(&document(&service));
    for (path, verb, said) in &operations {
        assert!(said["operationId"].is_string() && said["summary"].is_string(), "{verb} {path}");
    }
    let source = include_str!("../../src/openapi.yaml");
    assert_eq!(operations.len(), source.matches("operationId: ").count());
}

#[test]
fn undescribed_methods_are_rejected_with_the_allowed_ones() {
    let upstream = Upstream::start();
    let service = Running::plain(&upstream);
    let document = document(&service);
    let described = operations(&document);
    for (path, methods) in document["paths"].as_object().unwrap() {
        for verb in ["get", "post", "put", "patch", "delete", "options"] {
            let method = Method::from_bytes(verb.to_uppercase().as_bytes()).unwrap();
            let answer = service.send(method.clone(), &filled(path), None, None);
            let is_described = methods[verb].is_object();
            assert_eq!(answer.status != 405, is_described, "{verb} {path}: {}", answer.text());
            if !is_described {
                let mut allowed: Vec<&str> = answer.header("allow").split(',').collect();
                allowed.retain(|word| *word != "HEAD");
                let mut known: Vec<String> = described
                    .iter()
                    .filter(|(other, ..)| other == path)
                    .map(|(_, verb, _)| verb.to_uppercase())
                    .collect();
                allowed.sort_unstable();
                known.sort_unstable();
                assert_eq!(allowed, known, "{verb} {path}");
            }
        }
    }
    let unknown = service.send(Method::GET, "/v1/nothing", None, None);
    assert_eq!(unknown.failure(), (404, "not_found".to_owned()));
}

#[test]
fn without_an_admin_token_the_admin_api_is_not_described() {
    let upstream = Upstream::start();
    let text = plain(&upstream, &["echo"], "").replace("admin_token: ${ADMIN_TOKEN}\n", "");
    let service = Running::start(&text);
    assert!(!document(&service).to_string().contains("/admin/"));
}

#[test]
fn the_document_names_existing_models_and_fields() {
    let upstream = Upstream::start();
    let text = plain(&upstream, &["echo"], "").replace("[echo]", OFFERED);
    let with_webhooks = format!("{text}\nresearch: {{webhook_secret: {}}}\n", "s".repeat(40));
    for (text, has_webhooks) in [(text, false), (with_webhooks, true)] {
        let service = Running::start(&text);
        let document = document(&service);
        let example = |path: &str| {
            let body = &document["paths"][path]["post"]["requestBody"];
            body["content"]["application/json"]["example"]["model"].clone()
        };
        assert_eq!(example("/v1/chat/completions"), "up/echo");
        assert_eq!(example("/v1/responses"), "up/echo");
        assert_eq!(example("/v1/media/run"), "up/paint");
        let model = &document["paths"]["/v1/models/{id}"]["get"]["parameters"][0];
        assert_eq!(model["example"], "up/echo");
        let research = &document["components"]["schemas"]["ResearchRequest"]["properties"];
        assert_eq!(research["webhook_url"].is_object(), has_webhooks);
        let url = &document["components"]["schemas"]["PageRequest"]["properties"]["url"];
        assert_eq!(url["format"], "uri");
        assert!(url["pattern"].as_str().unwrap().starts_with("^https?://"), "{url}");
    }
}

#[test]
fn without_a_suitable_model_there_is_no_example() {
    let upstream = Upstream::start();
    let document = document(&Running::plain(&upstream));
    let body = |path: &str| {
        let body = &document["paths"][path]["post"]["requestBody"];
        body["content"]["application/json"].clone()
    };
    assert_eq!(body("/v1/chat/completions")["example"]["model"], "up/echo");
    for path in ["/v1/images/generations", "/v1/embeddings", "/v1/media/run"] {
        assert!(body(path)["schema"].is_object() && body(path)["example"].is_null(), "{path}");
    }
}

#[test]
fn the_page_lists_every_operation_without_external_resources() {
    let upstream = Upstream::start();
    let service = Running::plain(&upstream);
    let answer = service.send(Method::GET, "/docs", None, None);
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
    let page = answer.text();
    for (path, verb, said) in operations(&document(&service)) {
        let id = said["operationId"].as_str().unwrap();
        assert!(page.contains(&format!("<article id=\"{id}\">")), "{verb} {path}");
    }
    assert!(
        !page.contains("<script") && !page.contains("src="),
        "no script, nothing from elsewhere"
    );

    for (width, scheme) in [(1200, ColorScheme::Light), (360, ColorScheme::Dark)] {
        let browser = Browser::start(width, 900, scheme);
        browser.goto(&format!("{}/docs", service.origin()));
        assert_eq!(browser.text("h1"), "Member API");
        assert_eq!(
            browser.eval("return document.documentElement.scrollWidth <= innerWidth"),
            true,
            "nothing is wider than {width} pixels"
        );
        let foreign = "return performance.getEntriesByType('resource').filter((it) => new URL(it.name).origin !== location.origin).length";
        assert_eq!(browser.eval(foreign), 0, "nothing is loaded from elsewhere");
        let color = "return getComputedStyle(document.body).backgroundColor";
        let is_light = browser.eval(color) == "rgb(246, 247, 248)";
        assert_eq!(is_light, scheme == ColorScheme::Light);
        browser.click("#createChatCompletion details summary");
        let details = "document.querySelector('#createChatCompletion details')";
        browser.eventually("it opens", &format!("return {details}.open"));
    }
}

#[test]
fn schemathesis_passes_for_member_operations() {
    let upstream = examine(&["--exclude-tag", "admin"]);
    let asked: Vec<String> =
        upstream.completions().into_iter().map(|seen| seen.path.clone()).collect();
    for path in [
        "/v1/chat/completions", "/v1/responses", "/v1/images/generations", "/v1/completions",
        "/v1/embeddings", "/v1/moderations", "/v1/rerank", "/v1/audio/speech",
        "/v1/audio/transcriptions", "/v1/images/edits", "/v1/messages",
    ] {
        assert!(asked.iter().any(|asked| asked == path), "the examples reach models: {asked:?}");
    }
}

#[test]
fn schemathesis_passes_for_admin_operations() {
    examine(&["--include-tag", "admin"]);
}

/// What the examples ask for.
const OFFERED: &str = "{echo: {name: echo}, paint: {name: echo, capabilities: [image]}, \
    speak: {name: echo, capabilities: [speech]}, hear: {name: echo, capabilities: [transcription]}, \
    embed: {name: echo, capabilities: [embeddings]}, judge: {name: echo, capabilities: [moderation]}, \
    rank: {name: echo, capabilities: [rerank]}}";

/// Lets schemathesis try everything that is described, and fails if anything is otherwise.
fn examine(which: &[&str]) -> Upstream {
    let upstream = Upstream::start();
    let text = plain(&upstream, &["echo"], "");
    let text = text.replace("prices:", "  docs: {kind: index, folder: .}\nprices:");
    let text = text.replace("[echo]", OFFERED);
    let claude = provider("claude", &upstream, "kind: anthropic, models: {echo: {}}");
    let text = text.replace("prices:", &format!("{claude}prices:"));
    let folder = Arc::new(tempfile::tempdir().unwrap());
    // No page is looked for outside of the test.
    let nobody = |service: &Service| service.resolve_pages_with(Names::new(&[]));
    let service = Running::start_after(folder, &text, nobody);
    let ada = service.holder("ada", 1_000_000_000);
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("schemathesis.toml");
    std::fs::write(&config, settings(ada.key.as_str())).unwrap();
    let (config, document) = (config.display().to_string(), service.origin() + "/openapi.json");
    let origin = service.origin();
    let arguments = ["--config-file", &config, "run", &document, "--url", &origin];
    let run = sdk::schemathesis(&[&arguments, which].concat());
    assert_eq!(run.code, 0, "{}\n{}", run.stdout, run.stderr);
    service.check_ledger();
    upstream
}

/// How it is run: everything is checked, with these exceptions. Which models there are and what they
/// understand is not the schema's matter, nor whether a response was made in the background, nor which
/// pages, jobs and webhooks there are, and a request to a failing upstream gets 503. Forms have no
/// example, so that a model must be named; only Anthropic's clients expect 404 for an unknown one.
fn settings(key: &str) -> String {
    format!(
        r#"
color = false
continue-on-failure = true

[generation]
max-examples = {MAX_EXAMPLES}
deterministic = true

[auth.openapi]
key.bearer = "{key}"
admin.bearer = "{ADMIN_TOKEN}"

[checks]
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "503"]

[[operations]]
include-operation-id = [
    "createChatCompletion", "createResponse", "runMedia", "compactResponse", "countInputTokens",
    "createCompletion", "createEmbeddings", "createModeration", "rerank", "createImage", "createSpeech",
]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 409, 422, 503]

[[operations]]
include-operation-id = ["editImage"]
parameters = {{ "body.model" = "up/paint" }}
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 409, 422, 503]

[[operations]]
include-operation-id = ["createTranscription"]
parameters = {{ "body.model" = "up/hear" }}
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 409, 422, 503]

[[operations]]
include-operation-id = ["createMessage"]
parameters = {{ "body.model" = "claude/echo" }}
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 404, 409, 422, 503]

[[operations]]
include-operation-id = ["countMessageTokens"]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 404, 409, 422, 503]

[[operations]]
include-operation-id = ["fetchPage"]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 403, 409, 422, 503]

[[operations]]
include-operation-id = "search"
checks.positive_data_acceptance.expected-statuses = ["2xx", 409, 422, 503]

[[operations]]
include-operation-id = "startResearch"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 403, 409, 422, 503]

[[operations]]
include-operation-id = ["showResearch", "followResearch", "cancelResearch"]
checks.positive_data_acceptance.expected-statuses = ["2xx", 404]

[[operations]]
include-operation-id = ["showResponse", "cancelResponse", "listInputItems"]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 404]
"#
    )
}
