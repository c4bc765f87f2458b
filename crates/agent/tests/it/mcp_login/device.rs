//! `agent mcp login --device`: a code that is entered on another device.

use agent_test_support::oauth::{Endpoint, Fault, Script};
use serde_json::{Value, json};

use super::LoginFixture;
use super::person::Person;

fn scene(change: impl FnOnce(&mut Script)) -> LoginFixture {
    let mut script = Script { device_codes: true, ..Script::default() };
    change(&mut script);
    LoginFixture::with(script)
}

#[test]
fn device_login_prints_url_and_code_without_a_browser() {
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
fn json_output_has_the_device_code() {
    let scene = scene(|_| {});
    let run = scene.agent.run(["mcp", "login", "docs", "--device", "--json"]);
    assert_eq!(run.code, 0, "{}", run.transcript());
    let told: Value = serde_json::from_str(run.stderr.lines().next().unwrap()).unwrap();
    let page = format!("{}/device", scene.server.issuer());
    assert_eq!(told["device_sign_in"]["verification_uri"], json!(page), "{told}");
    assert_eq!(told["device_sign_in"]["user_code"], "ABCD-EFGH");
    let outcome: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&outcome["signed_in"], &outcome["tools"]), (&json!(true), &json!(2)));
}

#[test]
fn ctrl_c_cancels_the_device_login() {
    let scene = scene(|script| {
        script.token = Endpoint::failing(Fault::refuse(400, "authorization_pending"));
    });
    let mut person = Person::start(&mut scene.agent.command(["mcp", "login", "docs", "--device"]));
    person.sees("Press Ctrl-C to cancel", 1);
    person.types("\x03");
    let run = person.finish();
    assert_eq!(run.code, 130, "{}", run.transcript());
    assert!(scene.tokens().is_none());
}

#[test]
fn device_login_is_only_suggested_over_ssh() {
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
fn each_device_code_error_has_a_hint() {
    let scene = scene(|script| {
        script.token = Endpoint::failing(Fault::refuse(400, "expired_token"));
    });
    let login = || scene.agent.run(["mcp", "login", "docs", "--device"]);
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
