//! The client document of the MCP client, where the service is its address.

use std::sync::Arc;

use agent_test_support::upstream::Upstream;
use http::Method;

use crate::support::{Answer, Running, plain};

const DOCUMENT: &str = r#"{"client_id":"https://ai.example.com/oauth/client-metadata.json"}"#;

fn asked(added: &str, document: Option<&'static str>) -> Answer {
    let upstream = Upstream::start();
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let service =
        Running::start_after(folder, &plain(&upstream, &["echo"], added), move |service| {
            if let Some(document) = document {
                service.offer_client_document(document.into());
            }
        });
    service.send(Method::GET, "/oauth/client-metadata.json", None, None)
}

#[test]
fn client_document_is_served_over_https() {
    let answer = asked("public_url: https://ai.example.com\n", Some(DOCUMENT));
    assert_eq!((answer.status, answer.text()), (200, DOCUMENT));
    assert_eq!(answer.header("content-type"), "application/json");
}

#[test]
fn client_document_needs_https_and_a_document() {
    let nothing = (404, "not_found".to_owned());
    assert_eq!(asked("", Some(DOCUMENT)).failure(), nothing);
    assert_eq!(asked("public_url: https://ai.example.com\n", None).failure(), nothing);
}
