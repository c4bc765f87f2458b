//! Prompts of servers as commands, and resources in messages.

use std::fs;

use agent_test_support::mcp::{everything_stdio, python_stdio};

use super::{Ground, entry, says};

fn ground() -> Ground {
    let ground = Ground::new();
    let servers = entry("all", &everything_stdio(), "") + &entry("python", &python_stdio(), "");
    ground.configure(&servers);
    ground
}

/// What the person said last, as the model got it.
fn said(ground: &Ground) -> String {
    let messages = ground.last_messages();
    messages.into_iter().rfind(|(role, _)| role == "user").unwrap().1
}

#[test]
fn a_prompt_is_filled_in_by_its_server() {
    let ground = ground();
    ground.script(vec![says("Hi Ada."), says("Cold.")]);
    let mut person = ground.person_with_servers(&[]);
    person.says("/mcp__python__greeting Ada tone=formal");
    assert_eq!(said(&ground), "Greet Ada in a formal tone.");
    person.says("/mcp__all__args_prompt city='New York'");
    assert!(said(&ground).contains("New York"), "{}", said(&ground));
    let told = person.says("/mcp__all__args_prompt");
    assert!(told.contains("missing argument `city`"), "{told}");
    let told = person.says("/mcp__all__nothing");
    assert!(told.contains("unknown prompt"), "{told}");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn prompts_arguments_and_resources_are_completed() {
    let ground = ground();
    let mut person = ground.person_with_servers(&[]);
    person.types("/mcp__python__gr\t");
    person.sees("/mcp__python__greeting");
    // Ctrl-U clears the line.
    person.types("\x15/mcp__all__completable_prompt Eng\t");
    person.sees("completable_prompt Engineering");
    // The server suggests names of this department only.
    person.types("\x15/mcp__all__completable_prompt Marketing H\t");
    person.sees("completable_prompt Marketing Henry");
    person.types("\x15What is in @python:note://to\t");
    person.sees("@python:note://today");
    person.types("\x15\x04");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn a_mentioned_resource_is_part_of_the_message() {
    let ground = ground();
    ground.script(vec![says("A note."), says("None.")]);
    let mut person = ground.person_with_servers(&[]);
    person.says("What is in @python:note://today?");
    let message = said(&ground);
    assert!(
        message.starts_with("What is in @python:note://today?\n\n[resource note://today"),
        "{message}"
    );
    assert!(message.contains("a note for today"), "{message}");
    let told = person.says("And @python:note://missing/at/all ?");
    assert!(told.contains("cannot read resource"), "{told}");
    // What is no server is only text.
    person.says("Mail me@example.com @nobody:x");
    assert_eq!(said(&ground), "Mail me@example.com @nobody:x");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn attachments_that_the_model_does_not_get_are_named() {
    let mut screen = python_stdio();
    screen.args = vec![concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/screen.py").to_owned()];
    let ground = Ground::new();
    ground.configure(&entry("screen", &screen, ""));
    ground.script(vec![says("Broken."), says("Blind.")]);
    let mut person = ground.person_with_servers(&[]);
    person.says("Look at @screen:screen://broken");
    assert!(
        said(&ground).contains("[attachment 1 is not shown: its image cannot"),
        "{}",
        said(&ground)
    );
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
    let config = ground.bench.home().join("config.yaml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("task:\n", "task:\n  attachments: []\n")).unwrap();
    let mut person = ground.person_with_servers(&[]);
    person.says("Look at @screen:screen://small");
    let message = said(&ground);
    assert!(message.contains("is not shown: you cannot be given images"), "{message}");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}
