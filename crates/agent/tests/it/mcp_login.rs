//! Signing in to servers, and out of them: a person at a terminal, a browser that is a script, and
//! an authorization server on a real socket.

mod background;
mod device;
mod documents;
mod keychain;
mod login;
mod logout;
mod person;
mod status;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use agent_test_support::command::{ProgramOutput, TestHome};
use agent_test_support::oauth::{FaultyAuthServer, Script};
use serde_json::Value;

use self::person::Person;
use crate::command_line::agent;

/// A browser that notes what it was started with, and goes to the page.
const BROWSER: &str = r#"#!/bin/sh
echo "$#" >> "$0.opened"
printf '%s\n' "$1" >> "$0.opened"
exec python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1]).read()' "$1"
"#;

/// A home with one server that signs in, and that server.
struct LoginFixture {
    agent: TestHome,
    server: FaultyAuthServer,
}

impl LoginFixture {
    fn new() -> Self {
        Self::with(Script::default())
    }

    fn with(script: Script) -> Self {
        let scene = Self { agent: agent(), server: FaultyAuthServer::start(script).unwrap() };
        scene.configure("");
        fs::write(scene.browser(), BROWSER).unwrap();
        fs::set_permissions(scene.browser(), fs::Permissions::from_mode(0o755)).unwrap();
        scene
    }

    /// Writes the configuration, with more keys for the server.
    fn configure(&self, more: &str) {
        let url = self.server.mcp_url();
        // What hangs does not hang for five minutes.
        let oauth = "auth: oauth\n    oauth:\n      timeout: 25\n";
        let text = format!("mcp_servers:\n  docs:\n    url: {url}\n    {oauth}{more}");
        fs::create_dir_all(self.agent.home()).unwrap();
        fs::write(self.agent.home().join("config.yaml"), text).unwrap();
    }

    fn browser(&self) -> PathBuf {
        self.agent.work().join("browser")
    }

    /// What the browser was started with: the number of arguments and the first one, each time.
    fn opened(&self) -> Vec<String> {
        let noted = fs::read_to_string(self.agent.work().join("browser.opened"));
        noted.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// A command on a machine with a screen and this browser.
    fn with_screen(&self, arguments: &[&str]) -> Command {
        let mut command = self.agent.command(arguments);
        command.env("DISPLAY", ":0").env("BROWSER", self.browser());
        command
    }

    /// Signs in, with the browser.
    fn sign_in(&self) -> ProgramOutput {
        let run = Person::start(&mut self.with_screen(&["mcp", "login", "docs"])).finish();
        assert_eq!(run.code, 0, "{}", run.transcript());
        run
    }

    fn folder(&self) -> PathBuf {
        self.agent.home().join("mcp-tokens")
    }

    /// What is kept, if anything is.
    fn tokens(&self) -> Option<Value> {
        let text = fs::read_to_string(self.folder().join("docs.json")).ok()?;
        Some(serde_json::from_str(&text).unwrap())
    }

    /// The names of the files that are kept, without locks.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder()).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !name.contains(".lock")).collect();
        names.sort();
        names
    }

    /// Changes what is kept.
    fn change_tokens(&self, change: impl FnOnce(&mut Value)) {
        let mut tokens = self.tokens().unwrap();
        change(&mut tokens);
        fs::write(self.folder().join("docs.json"), tokens.to_string()).unwrap();
    }

    /// Fails if a token is in any of these texts.
    fn assert_no_token_in(&self, runs: &[&ProgramOutput]) {
        let tokens = self.tokens().unwrap();
        for key in ["access_token", "refresh_token"] {
            let secret = tokens[key].as_str().unwrap();
            for run in runs {
                assert!(!run.transcript().contains(secret), "{key}: {}", run.transcript());
            }
        }
    }
}

/// The address on a separate line.
fn address_in(shown: &str) -> String {
    let line = shown.lines().find(|line| line.starts_with("http") && line.contains("/authorize?"));
    assert!(line.is_some(), "no address in {shown}");
    line.unwrap().to_owned()
}
