//! What is kept, told without a network.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::LoginFixture;
use super::person::Person;

#[test]
fn status_shows_signed_out_signed_in_and_expired() {
    let scene = LoginFixture::new();
    let before = scene.agent.run(["mcp", "status", "docs"]);
    assert_eq!(before.code, 4);
    assert!(before.stdout.starts_with("docs: not signed in\n"), "{}", before.transcript());
    assert!(before.stderr.contains("sign in with `agent mcp login docs`"), "{}", before.stderr);
    assert_eq!(scene.agent.run(["mcp", "status"]).code, 0);
    scene.sign_in();
    scene.server.forget_requests();
    let after = scene.agent.run(["mcp", "status", "docs"]);
    assert_eq!((after.code, &*after.stderr), (0, ""));
    let file = scene.folder().join("docs.json").display().to_string();
    for told in [
        "docs: signed in\n",
        scene.server.issuer(),
        " minutes, renewed automatically",
        "client    registration ",
        &file,
    ] {
        assert!(after.stdout.contains(told), "{told}: {}", after.stdout);
    }
    let table = scene.agent.run(["mcp", "status"]);
    assert!(table.stdout.contains("docs    signed in"), "{}", table.stdout);
    scene.change_tokens(|tokens| {
        tokens["expires_at"] = json!(tokens["obtained_at"].as_u64().unwrap() - 185);
    });
    let ended = scene.agent.run(["mcp", "status", "docs"]);
    assert_eq!(ended.code, 0);
    let words = "expired 3 minutes ago, renewed automatically";
    assert!(ended.stdout.contains(words), "{}", ended.stdout);
    scene.change_tokens(|tokens| {
        tokens.as_object_mut().unwrap().remove("refresh_token");
    });
    let ended = scene.agent.run(["mcp", "status", "--json"]);
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    let docs = &told["servers"][0];
    assert_eq!((&docs["expired"], &docs["renewable"]), (&json!(true), &json!(false)), "{told}");
    assert_eq!((&docs["state"], &docs["signed_in"]), (&json!("expired"), &json!(false)), "{told}");
    let ended = scene.agent.run(["mcp", "status", "docs"]);
    assert_eq!(ended.code, 4, "{}", ended.transcript());
    assert!(ended.stdout.starts_with("docs: expired\n"), "{}", ended.stdout);
    let doctor = scene.agent.run(["mcp", "doctor", "--offline"]);
    assert!(doctor.stdout.contains("has expired and cannot be renewed"), "{}", doctor.stdout);
    let mut requests = scene.server.requests();
    // The event stream of the login may arrive after its end; a connection starts with a POST.
    requests.retain(|request| request.method != "GET");
    assert!(requests.is_empty(), "nothing is connected: {requests:?}");
}

#[test]
fn a_damaged_token_file_is_reported_and_replaced_by_login() {
    let scene = LoginFixture::new();
    scene.sign_in();
    fs::write(scene.folder().join("docs.json"), "{\"access_token\": \"half").unwrap();
    let run = scene.agent.run(["mcp", "status", "docs"]);
    assert_eq!(run.code, 4, "{}", run.transcript());
    assert!(run.stdout.contains("docs: unreadable"), "{}", run.stdout);
    assert!(run.stdout.contains("the file is corrupt"), "{}", run.stdout);
    let doctor = scene.agent.run(["mcp", "doctor", "--offline"]);
    assert!(doctor.stdout.contains("its token file is corrupt"), "{}", doctor.stdout);
    scene.sign_in();
    assert_eq!(scene.agent.run(["mcp", "status", "docs"]).code, 0);
}

#[test]
fn servers_without_oauth_differ_from_unknown_servers() {
    let scene = LoginFixture::new();
    fs::write(scene.agent.home().join("config.yaml"), "mcp_servers:\n  local:\n    command: x\n")
        .unwrap();
    let run = scene.agent.run(["mcp", "status", "local"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("does not sign in"), "{}", run.stdout);
    assert_eq!(scene.agent.run(["mcp", "status", "nobody"]).code, 3);
    let all = scene.agent.run(["mcp", "status"]);
    assert!(all.stdout.contains("No server has `auth: oauth`"), "{}", all.stdout);
}

#[test]
fn doctor_reports_missing_sign_ins_and_readable_tokens() {
    let scene = LoginFixture::new();
    let doctor = || scene.agent.run(["mcp", "doctor", "--offline"]);
    let run = doctor();
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("docs: not signed in"), "{}", run.stdout);
    assert!(run.stdout.contains("fix: `agent mcp login docs`"), "{}", run.stdout);
    scene.sign_in();
    let run = doctor();
    assert_eq!(run.code, 0, "{}", run.transcript());
    assert!(run.stdout.contains("docs: signed in at"), "{}", run.stdout);
    let open = |path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(scene.folder(), 0o755);
    open(scene.folder().join("docs.json"), 0o644);
    let run = doctor();
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("other users can access the token folder"), "{}", run.stdout);
    assert!(run.stdout.contains("other users can read your tokens (mode 644)"), "{}", run.stdout);
}

#[test]
fn client_credentials_need_no_user() {
    let scene = LoginFixture::new();
    scene.configure(
        "      flow: client_credentials\n      client_id: me\n      client_secret: s3cret-x\n",
    );
    let run = scene.agent.run(["mcp", "status", "docs"]);
    assert_eq!((run.code, &*run.stderr), (0, ""), "{}", run.transcript());
    assert!(run.stdout.starts_with("docs: signs in by itself\n"), "{}", run.stdout);
    let all = scene.agent.run(["mcp", "status"]);
    assert!(!all.stderr.contains("mcp login"), "{}", all.stderr);
    let doctor = scene.agent.run(["mcp", "doctor", "--offline"]);
    assert!(doctor.stdout.contains("docs: signs in automatically"), "{}", doctor.stdout);
    // A login opens nothing, asks nobody, and never names itself as the way out.
    let run = Person::start(&mut scene.with_screen(&["mcp", "login", "docs"])).finish();
    assert!(run.stderr.contains("docs signs in automatically."), "{}", run.stderr);
    assert!(!run.stderr.contains("mcp login"), "{}", run.transcript());
    assert_eq!(scene.opened(), [""; 0]);
    assert!(!scene.server.requests_to("/token").is_empty(), "{}", run.transcript());
}
