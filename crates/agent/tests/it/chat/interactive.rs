//! A conversation at a terminal: turns, keys, interruptions, another model.

use agent_test_support::upstream::Step;
use rustix::process::Signal;

use super::{Fixture, says, settings};

#[test]
fn later_turns_include_the_earlier_ones() {
    let fixture = Fixture::new();
    fixture.script(vec![says("Hello you."), says("You said hi."), says("Bye.")]);
    let mut person = fixture.person(&[]);
    assert_eq!(person.says("hi there"), "Hello you.");
    assert!(person.says("what did I say?").contains("hi"));
    assert_eq!(person.says("good bye"), "Bye.");
    let sent: Vec<String> = fixture
        .last_messages()
        .into_iter()
        .filter(|(role, _)| role != "system")
        .map(|(role, text)| format!("{role}: {text}"))
        .collect();
    assert_eq!(
        sent,
        [
            "user: hi there", "assistant: Hello you.", "user: what did I say?",
            "assistant: You said hi.", "user: good bye",
        ]
    );
    person.types("\x04");
    let (code, screen) = person.finish();
    assert_eq!(code, 0, "{screen}");
    settings().bind(|| insta::assert_snapshot!(fixture.plain(&screen)));
}

#[test]
fn ctrl_c_stops_an_answer_and_the_chat_continues() {
    let fixture = Fixture::new();
    fixture.script(vec![Step::HangMid, says("Here I am.")]);
    let mut person = fixture.person(&[]);
    let (prompts, _) = person.here();
    person.enters("tell me a long story");
    agent_test_support::wait::eventually("it is asked", || fixture.upstream.in_flight() == 1);
    person.sees("tell");
    person.types("\x03").awaits_prompt(prompts + 1);
    person.sees("stopped");
    assert_eq!(person.says("are you there?"), "Here I am.");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn ctrl_c_clears_the_line_and_a_second_one_exits() {
    let fixture = Fixture::new();
    let mut person = fixture.person(&[]);
    person.types("half a thought").sees("half a thought");
    person.types("\x03").awaits_prompt(2);
    person.sees("Press Ctrl-C again");
    person.types("\x03");
    let (code, screen) = person.finish();
    assert_eq!(code, 0, "{screen}");
    assert!(fixture.upstream.completions().is_empty());
    assert!(!screen.contains("--resume"), "nothing was said, so nothing is kept: {screen}");
    assert!(!fixture.agent.home().join("chat/sessions").exists());
}

#[test]
fn multi_line_messages_are_sent_as_one() {
    let fixture = Fixture::new();
    fixture.script(vec![says("One."), says("Two."), says("Three.")]);
    let mut person = fixture.person(&[]);
    person.types("first \\\r").sees(". ");
    person.says("second");
    assert_eq!(fixture.last_messages().last().unwrap().1, "first \nsecond");
    person.types("first\x1b\r").sees_times(". ", 2);
    person.says("second");
    assert_eq!(fixture.last_messages().last().unwrap().1, "first\nsecond");
    person.says("\x1b[200~make \\\n  all\n/quit\x1b[201~ now");
    assert_eq!(fixture.last_messages().last().unwrap().1, "make \\\n  all\n/quit now");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn commands_are_completed_and_typos_get_a_suggestion() {
    let fixture = Fixture::new();
    let mut person = fixture.person(&[]);
    person.types("/he\t").sees("> /help");
    let help = person.says("");
    assert!(help.contains("/reload-mcp"), "{help}");
    let wrong = person.says("/modle");
    assert!(wrong.contains("did you mean `/model`?"), "{wrong}");
    fixture.script(vec![says("A folder.")]);
    assert_eq!(person.says("//etc?"), "A folder.");
    assert_eq!(fixture.last_messages().last().unwrap().1, "/etc?");
    person.says("/quit_");
    person.enters("/quit");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn switching_the_model_keeps_the_conversation() {
    let fixture = Fixture::new();
    fixture.script(vec![says("I am the first.")]);
    fixture.upstream.script("second", vec![says("I am the second.")]);
    let mut person = fixture.person(&[]);
    person.says("who are you?");
    let list = person.says("/model");
    assert!(list.contains("* ollama/first") || list.contains("*  ollama/first"), "{list}");
    let wrong = person.says("/model ollama/secnd");
    assert!(wrong.contains("did you mean `ollama/second`?"), "{wrong}");
    assert!(person.says("/model ollama/second").contains("switched to ollama/second"));
    assert_eq!(person.says("and you?"), "I am the second.");
    let sent = fixture.last_messages();
    assert!(sent.contains(&("assistant".to_owned(), "I am the first.".to_owned())), "{sent:?}");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn requests_are_retried_until_the_service_is_back() {
    let mut fixture = Fixture::new();
    fixture.script(vec![says("One."), says("Two.")]);
    let mut person = fixture.person(&[]);
    assert_eq!(person.says("first"), "One.");
    fixture.down();
    let (prompts, _) = person.here();
    person.enters("second");
    person.sees("waiting:");
    fixture.up();
    person.awaits_prompt(prompts + 1).sees("Two.");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn a_rejected_request_is_reported_and_the_chat_continues() {
    let fixture = Fixture::new();
    fixture.script(vec![Step::Status(400), says("Better.")]);
    let mut person = fixture.person(&[]);
    let refused = person.says("first");
    assert!(refused.contains("error:"), "{refused}");
    assert_eq!(person.says("second"), "Better.");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn a_signal_at_the_prompt_exits_and_restores_the_terminal() {
    let fixture = Fixture::new();
    let person = fixture.person(&[]);
    person.signal(Signal::TERM);
    assert_eq!(person.finish().0, 143);
}

#[test]
fn input_history_is_readable_only_by_the_owner() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new();
    fixture.script(vec![says("One."), says("Two.")]);
    let mut person = fixture.person(&[]);
    person.says("remember me");
    person.kill();
    let path = fixture.agent.home().join("chat/history");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut person = fixture.person(&[]);
    person.types("\x1b[A").sees("> remember me");
    person.says("");
    assert_eq!(fixture.last_messages().last().unwrap().1, "remember me");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn control_characters_of_a_model_are_escaped() {
    let fixture = Fixture::new();
    fixture.script(vec![says("clear \x1b[2J and \x1b]0;title\x07 this \u{9b}2J")]);
    let mut person = fixture.person(&[]);
    let shown = person.says("be nasty");
    assert_eq!(shown, "clear \\u{1b}[2J and \\u{1b}]0;title\\u{7} this \\u{9b}2J");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn a_signal_during_an_answer_exits() {
    let fixture = Fixture::new();
    fixture.script(vec![Step::HangMid]);
    let mut person = fixture.person(&[]);
    person.enters("tell me a long story");
    agent_test_support::wait::eventually("it is asked", || fixture.upstream.in_flight() == 1);
    person.signal(Signal::TERM);
    assert_eq!(person.finish().0, 143);
}

#[test]
fn a_closed_terminal_ends_the_program() {
    let fixture = Fixture::new();
    fixture.script(vec![Step::HangMid]);
    assert_eq!(fixture.person(&[]).hangs_up(), Some(129));
    let mut person = fixture.person(&[]);
    person.enters("tell me a long story");
    agent_test_support::wait::eventually("it is asked", || fixture.upstream.in_flight() == 1);
    assert_eq!(person.hangs_up(), Some(143));
}

#[test]
fn text_is_rendered_before_its_paragraph_ends() {
    let fixture = Fixture::new();
    let first = "- The **tide** rises and falls twice a day because the Moon pulls at the water \
                 of the _nearer_ side more ";
    fixture.script(vec![Step::GateBetween(first, "than at the rest.\n- That is `all`.\n")]);
    let mut person = fixture.person(&[]);
    let (prompts, row) = person.here();
    person.enters("why are there tides?").sees("nearer side more");
    // The model server waits, so this is all that it has sent.
    let said = |text: String| text.lines().skip(row + 1).collect::<Vec<_>>().join("\n");
    assert_eq!(
        said(person.text()).trim_end(),
        "• The tide rises and falls twice a day because the Moon pulls at the water of\n  the nearer \
         side more"
    );
    fixture.upstream.open_gate();
    person.awaits_prompt(prompts + 1);
    assert_eq!(
        said(person.text()).trim_end_matches(['>', '\n']),
        "• The tide rises and falls twice a day because the Moon pulls at the water of\n  the nearer \
         side more than at the rest.\n• That is `all`."
    );
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
}

#[test]
fn markdown_is_rendered_only_at_a_terminal() {
    let text = "Some **bold** words.\n\n- an item\n";
    let fixture = Fixture::new();
    fixture.script(vec![says(text), says(text)]);
    let mut person = fixture.person(&[]);
    let shown = person.says("show me");
    assert!(shown.contains("Some bold words.") && !shown.contains("**"), "{shown}");
    person.types("\x04");
    assert_eq!(person.finish().0, 0);
    assert_eq!(fixture.piped(&[], "show me\n").stdout, text);
}
