//! `secrets.store: keychain`, with the keyring of GNOME on a separate bus.

use std::fs;
use std::process::Command;

use agent_test_support::command::ProgramOutput;
use agent_test_support::keyring::Keyring;
use serde_json::{Value, json};

use super::LoginFixture;
use super::person::Person;

const VARIABLES: &str = "# mine\nDOCS_KEY=s3cret-of-a-test\nOTHER='two words'\n";

/// A scene with variables, and a keyring.
struct Desktop {
    scene: LoginFixture,
    keyring: Keyring,
}

impl Desktop {
    fn new() -> Self {
        let scene = LoginFixture::new();
        scene.configure("    headers:\n      X-Key: ${DOCS_KEY}\n");
        fs::write(scene.agent.home().join(".env"), VARIABLES).unwrap();
        Self { scene, keyring: Keyring::start() }
    }

    /// Signed in, with everything in the keychain.
    fn with_keychain() -> Self {
        let desktop = Self::new();
        desktop.scene.sign_in();
        let run = desktop.run(&["mcp", "secrets", "move", "--to", "keychain"]);
        let moved = "Moved 2 variables and 2 token files to the keychain.\n";
        assert_eq!((run.code, &*run.stdout), (0, moved), "{}", run.stderr);
        desktop
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.scene.with_screen(arguments);
        command.env("DBUS_SESSION_BUS_ADDRESS", self.keyring.bus());
        command
    }

    fn run(&self, arguments: &[&str]) -> ProgramOutput {
        ProgramOutput::of(&mut self.command(arguments), b"")
    }

    /// A command on a machine without a session bus.
    fn run_without_bus(&self, arguments: &[&str]) -> ProgramOutput {
        let mut command = self.scene.with_screen(arguments);
        command.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus");
        ProgramOutput::of(&mut command, b"")
    }

    fn file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.scene.agent.home().join(name)).ok()
    }

    fn calls_a_tool(&self) {
        let run = self.run(&["mcp", "call", "docs/echo", "--arg", "text=hello"]);
        assert_eq!(run.code, 0, "{}", run.transcript());
        let asked = self.scene.server.requests_to("/mcp").pop().unwrap();
        assert_eq!(asked.header("x-key"), Some("s3cret-of-a-test"));
    }
}

#[test]
fn secrets_are_moved_to_the_keychain_and_back() {
    let desktop = Desktop::new();
    desktop.scene.sign_in();
    let names = ["mcp-tokens/docs.json", "mcp-tokens/docs.client.json", ".env", "config.yaml"];
    let before = names.map(|name| desktop.file(name));
    // Damaged files of earlier logins, and of a server that is gone, may hold tokens.
    for damaged in ["docs.json.bak", "docs.client.json.bak", "gone.json.bak"] {
        fs::write(desktop.scene.folder().join(damaged), "{\"access_token\": \"s3c").unwrap();
    }
    let run = desktop.run(&["mcp", "secrets", "move", "--to", "keychain"]);
    assert_eq!(run.code, 0, "{}", run.transcript());
    assert_eq!(desktop.scene.files(), ["docs.client.json", "docs.json", "docs.meta.json"]);
    assert_eq!(desktop.keyring.secrets(), 3);
    assert_eq!(desktop.file(".env"), None);
    let reference = json!({ "keychain": true, "version": 1 });
    assert_eq!(desktop.scene.tokens(), Some(reference));
    let config = format!("{}secrets:\n  store: keychain\n", before[3].clone().unwrap());
    assert_eq!(desktop.file("config.yaml").unwrap(), config);
    desktop.calls_a_tool();
    let status = desktop.run(&["mcp", "status", "docs"]);
    assert!(status.stdout.contains("in the keychain"), "{}", status.transcript());

    let run = desktop.run(&["mcp", "secrets", "move", "--to", "file", "--json"]);
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    let expected = json!({ "to": "file", "variables": 2, "token_files": 2, "not_moved": [] });
    assert_eq!(told, expected, "{}", run.stderr);
    assert_eq!(desktop.keyring.secrets(), 0);
    let after = names.map(|name| desktop.file(name));
    assert_eq!(after[..3], before[..3]);
    let run = desktop.run_without_bus(&["mcp", "test", "docs"]);
    assert_eq!(run.code, 0, "{}", run.transcript());
}

#[test]
fn sign_ins_renewals_and_new_secrets_use_the_keychain() {
    let desktop = Desktop::with_keychain();
    desktop.scene.server.expire_access_tokens();
    desktop.calls_a_tool();
    // The refresh token was replaced, and a repeated one would end the sign-in.
    desktop.scene.server.expire_access_tokens();
    desktop.calls_a_tool();
    let run = Person::start(&mut desktop.command(&["mcp", "login", "docs"])).finish();
    assert_eq!(run.code, 0, "{}", run.transcript());
    desktop.calls_a_tool();
    assert_eq!(desktop.scene.tokens().unwrap()["keychain"], true);

    let header = "Authorization: Bearer sk-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c";
    let address = "https://example.com/mcp";
    let run = desktop.run(&["mcp", "add", "more", "--url", address, "--header", header]);
    assert_eq!(run.code, 0, "{}", run.transcript());
    assert!(run.stderr.contains("in the keychain."), "{}", run.stderr);
    assert_eq!(desktop.file(".env"), None);
    assert_eq!(desktop.keyring.secrets(), 3);

    // What a person adds to the file counts, too, and moves with the next command.
    fs::write(desktop.scene.agent.home().join(".env"), "LATER=x\n").unwrap();
    desktop.calls_a_tool();
    let run = desktop.run(&["mcp", "secrets", "move", "--to", "keychain"]);
    assert_eq!(run.code, 0, "{}", run.transcript());
    let run = desktop.run(&["mcp", "secrets", "move", "--to", "file"]);
    assert_eq!(run.code, 0, "{}", run.transcript());
    let variables = desktop.file(".env").unwrap();
    assert!(variables.starts_with(VARIABLES) && variables.contains("\nLATER=x\n"), "{variables}");
}

#[test]
fn a_logout_removes_the_tokens_from_the_keychain() {
    let desktop = Desktop::with_keychain();
    let run = desktop.run(&["mcp", "logout", "docs"]);
    assert_eq!(run.code, 0, "{}", run.transcript());
    assert!(run.stdout.contains("revoked the tokens"), "{}", run.stdout);
    assert_eq!(desktop.keyring.secrets(), 1);
    assert_eq!(desktop.scene.files(), [""; 0]);
}

#[test]
fn a_missing_or_locked_keychain_is_reported_without_changes() {
    let desktop = Desktop::new();
    desktop.scene.sign_in();
    let names = ["mcp-tokens/docs.json", ".env", "config.yaml"];
    let before = names.map(|name| desktop.file(name));
    let run = desktop.run_without_bus(&["mcp", "secrets", "move", "--to", "keychain"]);
    assert_eq!(run.code, 3, "{}", run.transcript());
    for told in ["no Secret Service on the session bus", "`secrets.store: file`"] {
        assert!(run.stderr.contains(told), "{told}: {}", run.stderr);
    }
    assert_eq!(names.map(|name| desktop.file(name)), before);

    let desktop = Desktop::with_keychain();
    let run = desktop.run_without_bus(&["mcp", "list"]);
    assert_eq!(run.code, 3, "{}", run.transcript());
    assert!(run.stderr.contains("no Secret Service on the session bus"), "{}", run.stderr);
    desktop.keyring.lock();
    for arguments in [&["mcp", "list"][..], &["mcp", "secrets", "move", "--to", "file"]] {
        let run = desktop.run(arguments);
        assert_eq!(run.code, 3, "{}", run.transcript());
        for told in ["cannot use the keychain", "it is locked", "`secrets.store: file`"] {
            assert!(run.stderr.contains(told), "{told}: {}", run.stderr);
        }
    }
    assert_eq!(desktop.keyring.secrets(), 3);

    // Files work again after a new sign-in.
    let config = desktop.file("config.yaml").unwrap().replace("store: keychain", "store: file");
    fs::write(desktop.scene.agent.home().join("config.yaml"), config).unwrap();
    fs::write(desktop.scene.agent.home().join(".env"), VARIABLES).unwrap();
    let run = desktop.run(&["mcp", "list"]);
    assert!(run.stderr.contains("unlock the keychain, or"), "{}", run.transcript());
    let run = Person::start(&mut desktop.command(&["mcp", "login", "docs"])).finish();
    assert_eq!(run.code, 0, "{}", run.transcript());
    desktop.calls_a_tool();
    assert!(desktop.scene.tokens().unwrap()["access_token"].is_string());
}
