//! `agent mcp login --device`: a code that is entered on another device.

use agent_test_support::oauth::{Endpoint, Fault, Script};
use serde_json::{Value, json};

use super::Scene;
use super::person::Person;

fn scene(change: impl FnOnce(&mut Script)) -> Scene {
    let mut script = Script { device_codes: true, ..Script::default() };
    change(&mut script);
    Scene::with(script)
}

#[test]
fn the_page_and_the_code_are_printed_and_no_browser_opens() {
    let scene = scene(|_| {});
    let run = Person::start(&mut scene.with_screen(&["mcp", "login", "docs", "--device"])).finish();
    assert_eq!((run.code, &*run.stdout), (0, "Signed in to docs; 2 tools\n"), "{}", run.stderr);
    let page = format!("{}/device", scene.server.issuer());
    for line in [&*page, "ABCD-EFGH", &format!("{page}?user_code=ABCD-EFGH")] {
        assert!(run.stderr.lines().any(|shown| shown == line), "{line}: {}", run.stderr);
    }
    assert!(run.stderr.contains("Ctrl-C"), "{}", run.stderr);
    assert_eq!(scene.opened(), [""; 0]);
    assert_eq!(scene.files(), ["docs.client.json", "docs.json", "docs.meta.json"]);
    scene.assert_no_token_in(&[&run]);
}

#[test]
fn a_program_gets_the_code_as_json() {
    let scene = scene(|_| {});
    let run = scene.bench.run(["mcp", "login", "docs", "--device", "--json"]);
    assert_eq!(run.code, 0, "{}", run.transcript());
    let told: Value = serde_json::from_str(run.stderr.lines().next().unwrap()).unwrap();
    let page = format!("{}/device", scene.server.issuer());
    assert_eq!(told["device_sign_in"]["verification_uri"], json!(page), "{told}");
    assert_eq!(told["device_sign_in"]["user_code"], "ABCD-EFGH");
    let outcome: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&outcome["signed_in"], &outcome["tools"]), (&json!(true), &json!(2)));
}

#[test]
fn ctrl_c_ends_the_wait_for_a_code() {
    let scene = scene(|script| {
        script.token = Endpoint::failing(Fault::refuse(400, "authorization_pending"));
    });
    let mut person = Person::start(&mut scene.bench.command(["mcp", "login", "docs", "--device"]));
    person.sees("Press Ctrl-C to cancel", 1);
    person.types("\x03");
    let run = person.finish();
    assert_eq!(run.code, 130, "{}", run.transcript());
    assert!(scene.tokens().is_none());
}

#[test]
fn a_code_is_suggested_over_ssh_but_not_used_unasked() {
    let scene = scene(|_| {});
    let mut command = scene.with_screen(&["mcp", "login", "docs"]);
    command.env_remove("BROWSER").env("SSH_CONNECTION", "10.0.0.2 50123 10.0.0.1 22");
    let mut person = Person::start(&mut command);
    person.sees("agent mcp login docs --device\n", 1).sees("\n> ", 1);
    person.types("skip\n");
    assert_eq!(person.finish().code, 4);
    assert!(scene.server.requests_to("/device_authorization").is_empty());
}

#[test]
fn each_way_a_code_fails_says_what_to_do() {
    let scene = scene(|script| {
        script.token = Endpoint::failing(Fault::refuse(400, "expired_token"));
    });
    let login = || scene.bench.run(["mcp", "login", "docs", "--device"]);
    let run = login();
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(
        run.stderr.contains("get a new code: `agent mcp login docs --device`"),
        "{}",
        run.stderr
    );
    scene.server.change(|script| script.device_codes = false);
    let run = login();
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("does not offer a sign-in with a device code"), "{}", run.stderr);
    assert!(run.stderr.contains("with a browser: `agent mcp login docs`"), "{}", run.stderr);
}
