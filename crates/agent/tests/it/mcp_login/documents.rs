//! Which client document a login uses. It counts on a pinned port that is free: see
//! `.config/nextest.toml`.

use super::*;
use crate::gateway::Fixture;

fn supports_client_documents() -> LoginFixture {
    LoginFixture::with(Script { client_documents: true, ..Script::default() })
}

/// Signs in as a member of the service at this address; gives the `client_id`.
fn client_of(scene: &LoginFixture, base_url: &str) -> String {
    let mut command = scene.with_screen(&["mcp", "login", "docs"]);
    command.env("AGENT_BASE_URL", base_url);
    let run = Person::start(&mut command).finish();
    assert_eq!(run.code, 0, "{}", run.transcript());
    scene.server.requests_to("/authorize").pop().unwrap().field("client_id").unwrap()
}

#[test]
fn the_client_document_of_the_service_is_the_default() {
    let fixture = Fixture::new();
    fixture.configure("public_url: https://service.example\n");
    let served = fixture.serve();
    let base = format!("http://{}/v1", served.address);
    let document = "https://service.example/oauth/client-metadata.json";
    let scene = supports_client_documents();
    assert_eq!(client_of(&scene, &base), document);
    // It is known by its document from then on.
    let status = scene.agent.run(["mcp", "status"]);
    assert!(status.stdout.contains("  document  "), "{status:?}");
    // `cimd: false` registers instead.
    let scene = supports_client_documents();
    scene.configure("      cimd: false\n");
    assert_ne!(client_of(&scene, &base), document);
    assert_eq!(scene.server.requests_to("/register").len(), 1);
    // So does a server that does not take documents.
    let scene = LoginFixture::new();
    assert_ne!(client_of(&scene, &base), document);
}

#[test]
fn a_service_without_https_announces_no_document() {
    let fixture = Fixture::new();
    fixture.configure("");
    let served = fixture.serve();
    let scene = supports_client_documents();
    client_of(&scene, &format!("http://{}/v1", served.address));
    assert_eq!(scene.server.requests_to("/register").len(), 1);
}
