//! `agent gateway init`: a new service, from answers at a terminal or from options.

use std::fs;
use std::process::Command;

use agent_test_support::command::{ProgramOutput, TestHome};

use super::{plain, settings};
use crate::chat::screen::Screen;
use crate::command_line::agent;

/// An API key that must not be shown.
const SECRET: &str = "sk-typed-by-a-person";

fn init(agent: &TestHome, arguments: &[&str]) -> Command {
    let mut command = agent.command(["gateway", "init"].iter().chain(arguments));
    command.env("USER", "op");
    command
}

fn run(command: &mut Command) -> ProgramOutput {
    ProgramOutput::of(command, b"")
}

fn configuration(agent: &TestHome) -> Option<String> {
    fs::read_to_string(agent.home().join("gateway/gateway.yaml")).ok()
}

fn env_file(agent: &TestHome) -> String {
    fs::read_to_string(agent.home().join(".env")).unwrap_or_default()
}

#[test]
fn missing_options_are_prompted_and_the_api_key_is_hidden() {
    let agent = agent();
    let mut screen = Screen::start(&mut init(&agent, &["--provider", "openai"]));
    screen.sees("Name of the first member [op]:");
    screen.types("alice\n");
    screen.sees("Initial credit [10]:");
    screen.types("\n");
    screen.sees("API key of openai:");
    screen.types(&format!("{SECRET}\n"));
    let (code, text) = screen.finish();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("(20 characters)") && !text.contains("typed-by"), "{text}");
    settings().bind(|| insta::assert_snapshot!(plain(&agent, &text)));
    assert!(
        env_file(&agent).contains(&format!("OPENAI_API_KEY={SECRET}\n")),
        "{}",
        env_file(&agent)
    );
    let yaml = configuration(&agent).unwrap();
    assert!(yaml.contains("api_key: ${OPENAI_API_KEY}") && !yaml.contains(SECRET), "{yaml}");
    let run = agent.run(["gateway", "member", "show", "alice", "--json"]);
    assert!(run.stdout.contains("\"balance_micros\": 10000000"), "{run:?}");
    assert_eq!(agent.run(["gateway", "check", "--offline"]).code, 0);
}

#[test]
fn ctrl_c_at_a_prompt_changes_nothing() {
    for (at, question) in ["first member [op]:", "credit [10]:", "of openai:"].iter().enumerate() {
        let agent = agent();
        let mut screen = Screen::start(&mut init(&agent, &["--provider", "openai"]));
        for earlier in &["first member [op]:", "credit [10]:"][..at] {
            screen.sees(earlier);
            screen.types("\n");
        }
        screen.sees(question);
        screen.types("\x03");
        let (code, text) = screen.finish();
        assert_eq!(code, 130, "{question}: {text}");
        assert_eq!((configuration(&agent), env_file(&agent)), (None, String::new()));
    }
}

#[test]
fn options_replace_every_prompt() {
    let agent = agent();
    let mut command = init(
        &agent,
        &[
            "--provider=openai",
            "--provider=anthropic",
            "--listen=127.0.0.1:9321",
            "--public-url=https://ai.example.com",
            "--database=sqlite:own.sqlite3",
            "--member=alice",
            "--credit=2.5",
        ],
    );
    command.env("OPENAI_API_KEY", "sk-one").env("ANTHROPIC_API_KEY", "sk-two");
    let run = run(&mut command);
    settings().bind(|| insta::assert_snapshot!(plain(&agent, &run.transcript())));
    let yaml = configuration(&agent).unwrap();
    for line in [
        "listen: 127.0.0.1:9321\n",
        "public_url: \"https://ai.example.com\"\n",
        "database: \"sqlite:own.sqlite3\"\n",
        "  openai:\n    kind: openai\n    api_key: ${OPENAI_API_KEY}\n",
        "  anthropic:\n    kind: anthropic\n    api_key: ${ANTHROPIC_API_KEY}\n",
    ] {
        assert!(yaml.contains(line), "{line}: {yaml}");
    }
    assert!(agent.home().join("gateway/own.sqlite3").is_file());
    assert!(!yaml.contains("sk-") && !env_file(&agent).contains("sk-"), "keys stay where they are");
}

#[test]
fn an_existing_configuration_is_rejected_before_any_prompt() {
    let agent = agent();
    assert_eq!(run(&mut init(&agent, &["--member", "alice"])).code, 0);
    let before = (configuration(&agent), env_file(&agent));
    let screen = Screen::start(&mut init(&agent, &["--provider", "openai"]));
    let (code, text) = screen.finish();
    assert_eq!(code, 1, "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["gateway.yaml exists already; nothing was changed", "agent gateway member create"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("first member"), "{text}");
    assert_eq!((configuration(&agent), env_file(&agent)), before);
}

#[test]
fn invalid_options_are_reported_and_create_no_configuration() {
    let cases: [(&[&str], i32, &str); 5] = [
        (&["--provider", "openai"], 3, "OPENAI_API_KEY is not set"),
        (&["--provider", "opneai"], 2, "a similar value exists: 'openai'"),
        (&["--credit=-1"], 2, "the initial credit must not be negative"),
        (&["--listen", "everywhere"], 2, "invalid value 'everywhere'"),
        (&["--database", "mysql://db"], 3, "database"),
    ];
    for (arguments, code, why) in cases {
        let agent = agent();
        let run = run(&mut init(&agent, arguments));
        assert!(run.code == code && run.stderr.contains(why), "{why}: {run:?}");
        assert_eq!(configuration(&agent), None, "{why}");
    }
}
