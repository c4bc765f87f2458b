//! What was granted is given back, and nothing of it stays.

use std::fs;

use agent_test_support::oauth::{Endpoint, Fault};
use serde_json::{Value, json};

use super::LoginFixture;
use super::person::Person;

#[test]
fn logout_revokes_and_deletes_the_tokens() {
    let scene = LoginFixture::new();
    scene.sign_in();
    fs::write(scene.folder().join("docs.cimd-off"), "").unwrap();
    fs::write(scene.folder().join("docs.json.bak"), "{}").unwrap();
    let run = scene.agent.run(["mcp", "logout", "docs"]);
    let issuer = scene.server.issuer();
    assert_eq!(run.stdout, format!("Signed out of docs; {issuer} revoked the tokens\n"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(scene.server.requests_to("/revoke").len(), 2);
    assert_eq!(scene.files(), [""; 0]);
    let again = scene.agent.run(["mcp", "logout", "docs"]);
    assert_eq!((again.code, &*again.stdout), (0, "docs was not signed in; nothing was removed.\n"));
    assert_eq!(scene.agent.run(["mcp", "status", "docs"]).code, 4);
}

#[test]
fn tokens_are_deleted_even_if_revocation_fails() {
    let scene = LoginFixture::new();
    scene.sign_in();
    scene.server.change(|script| script.revocation = Endpoint::failing(Fault::status(503)));
    let run = scene.agent.run(["mcp", "logout", "docs", "--json"]);
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    let docs = &told["signed_out"][0];
    assert_eq!((&docs["had"], &docs["given_back"]), (&json!(true), &json!(false)), "{told}");
    assert_eq!(scene.files(), [""; 0]);
}

#[test]
fn logout_works_for_removed_servers() {
    let scene = LoginFixture::new();
    scene.sign_in();
    fs::write(scene.agent.home().join("config.yaml"), "mcp_servers: {}\n").unwrap();
    let status = scene.agent.run(["mcp", "status"]);
    assert!(
        status.stderr.contains("remove them with `agent mcp logout docs`"),
        "{}",
        status.transcript()
    );
    let run = scene.agent.run(["mcp", "logout", "docs"]);
    assert_eq!(run.code, 0, "{}", run.transcript());
    assert!(run.stdout.contains("revoked the tokens"), "{}", run.stdout);
    assert_eq!(scene.files(), [""; 0]);
    assert_eq!(scene.agent.run(["mcp", "logout", "docs"]).code, 3);
}

#[test]
fn logout_of_all_servers_needs_confirmation() {
    let scene = LoginFixture::new();
    scene.sign_in();
    // As for a server whose name cannot be a file's.
    fs::write(scene.folder().join("a_b~0011223344556677.json"), "{}").unwrap();
    let alone = scene.agent.run(["mcp", "logout", "--all"]);
    assert_eq!(alone.code, 1);
    assert!(alone.stderr.contains("--yes"), "{}", alone.stderr);
    let all = ["mcp", "logout", "--all"];
    let mut person = Person::start(&mut scene.agent.command(all));
    person.sees("Remove 2 sign-ins", 1).sees("[y/N] ", 1);
    person.types("n\n");
    assert!(person.finish().stderr.contains("No sign-ins were removed"));
    assert!(scene.tokens().is_some());
    let run = scene.agent.run(["mcp", "logout", "--all", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.transcript());
    assert!(run.stdout.contains("Signed out of docs; "), "{}", run.stdout);
    assert_eq!(scene.files(), [""; 0]);
    let run = scene.agent.run(["mcp", "logout", "--all", "--yes"]);
    assert_eq!(run.stdout, "No server was signed in.\n");
}

#[test]
fn removing_a_server_deletes_its_tokens() {
    let scene = LoginFixture::new();
    scene.sign_in();
    let run = scene.agent.run(["mcp", "remove", "docs", "--yes"]);
    assert_eq!((run.code, &*run.stdout), (0, "Removed docs.\n"), "{}", run.stderr);
    assert!(run.stderr.contains("Its sign-in was removed: docs."), "{}", run.stderr);
    assert_eq!(scene.files(), [""; 0]);
    assert_eq!(scene.server.requests_to("/revoke").len(), 2);
}
