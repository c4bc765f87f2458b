//! Client documents, fetched over real TLS as an authorization server would, and judged.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use mcp_client::config::{HttpEndpoint, Text, Verify};
use mcp_client::error::Error;
use mcp_client::oauth::client_document::{
    FetchedDocument, MAX_DOCUMENT_BYTES, MAX_FETCH_WAIT, RuleViolation, build, check, fetch,
    redirect_uris,
};
use serde_json::json;
use tokio::net::TcpListener;

use crate::support::host;
use crate::tls::{Authority, Files, terminate};

/// A place on the web that answers every path in its own way.
struct Web {
    origin: String,
    endpoint: HttpEndpoint,
    requests: Arc<Mutex<Vec<(String, String)>>>,
    _files: Files,
}

impl Web {
    async fn start() -> Self {
        let (authority, files) = (Authority::new(), Files::new());
        let inside = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = format!("http://{}/", inside.local_addr().unwrap());
        let port = terminate(&authority.issue(&["localhost"]), None, &target).await;
        let origin = format!("https://localhost:{port}");
        let requests: Arc<Mutex<Vec<_>>> = Arc::default();
        let (seen, own) = (Arc::clone(&requests), origin.clone());
        let app = axum::Router::new().fallback(move |request: Request| {
            let path = request.uri().path().to_owned();
            let headers = format!("{:?}", request.headers());
            seen.lock().unwrap().push((path.clone(), headers));
            let answer = answer(&own, &path);
            async move { answer }
        });
        tokio::spawn(async move { axum::serve(inside, app).await });
        let mut endpoint = HttpEndpoint::new(format!("{origin}/mcp"));
        endpoint.verify = Verify::Bundle(files.put("ca.pem", &authority.pem()));
        endpoint.headers = vec![("Authorization".to_owned(), Text::literal("Bearer secret-77"))];
        Self { origin, endpoint, requests, _files: files }
    }

    async fn fetch(&self, path: &str) -> Result<FetchedDocument, Error> {
        fetch(&self.endpoint, &host().0, &format!("{}{path}", self.origin)).await
    }

    async fn judged(&self, path: &str) -> Vec<RuleViolation> {
        check(&format!("{}{path}", self.origin), &self.fetch(path).await.unwrap())
    }
}

fn answer(origin: &str, path: &str) -> Response {
    let mut document = build(&format!("{origin}{path}"), "Test", None);
    let mut kind = "application/json";
    let mut response = Response::builder();
    match path {
        "/missing" => response = response.status(404),
        "/moved" => response = response.status(302).header("Location", "/good"),
        "/page" => kind = "text/html",
        "/few" => document["redirect_uris"] = json!([redirect_uris()[0]]),
        "/copied" => document["client_id"] = json!("https://other.test/client.json"),
        "/bad" => document = json!({}),
        "/longest" | "/longer" => {
            document["x"] = json!("");
            let room = MAX_DOCUMENT_BYTES - document.to_string().len();
            document["x"] = "x".repeat(room + usize::from(path == "/longer")).into();
        }
        _ => {}
    }
    response.header("Content-Type", kind).body(Body::from(document.to_string())).unwrap()
}

#[tokio::test]
async fn each_violated_rule_is_found_over_tls() {
    let web = Web::start().await;
    let kind = RuleViolation::ContentType { found: Some("text/html".to_owned()) };
    let few = RuleViolation::MissingRedirects { missing: redirect_uris()[1..].to_vec() };
    let none = RuleViolation::MissingRedirects { missing: redirect_uris().to_vec() };
    let copied =
        RuleViolation::ClientId { found: Some("https://other.test/client.json".to_owned()) };
    for (path, broken) in [
        ("/good", vec![]),
        ("/longest", vec![]),
        ("/missing", vec![RuleViolation::Status(404)]),
        ("/moved", vec![RuleViolation::Redirected { to: "/good".to_owned() }]),
        ("/page", vec![kind]),
        ("/few", vec![few]),
        ("/copied", vec![copied]),
        ("/bad", vec![none, RuleViolation::ClientId { found: None }]),
    ] {
        assert_eq!(web.judged(path).await, broken, "{path}");
    }
    assert_eq!(web.judged("/").await, [RuleViolation::Address("it has no path")]);
    let requests = web.requests.lock().unwrap().clone();
    let paths: Vec<&str> = requests.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths.iter().filter(|path| **path == "/good").count(), 1, "no redirect is followed");
    for (path, headers) in requests {
        assert!(!headers.contains("secret-77"), "{path}: credentials went along: {headers}");
    }
}

#[tokio::test]
async fn unfetchable_documents_are_errors() {
    let web = Web::start().await;
    let error = web.fetch("/longer").await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: MAX_DOCUMENT_BYTES }), "{error}");
    let strict = HttpEndpoint { verify: Verify::System, ..web.endpoint.clone() };
    let error = fetch(&strict, &host().0, &format!("{}/good", web.origin)).await.unwrap_err();
    assert!(matches!(&error, Error::Tls { url, .. } if url.contains("/good")), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_document_server_times_out() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/client.json", silent.local_addr().unwrap());
    let error = fetch(&HttpEndpoint::new(&*url), &host().0, &url).await.unwrap_err();
    let waited = matches!(&error, Error::ConnectTimeout { after, .. } if *after == MAX_FETCH_WAIT);
    assert!(waited, "{error}");
    assert_eq!(error.to_string(), "no response to `GET` within 10 s");
    drop(silent);
}
