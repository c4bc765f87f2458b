//! Conversations in the page.

use agent_test_support::upstream::Step;
use serde_json::json;

use super::*;
use crate::chat::{calls, says};

/// Begins a conversation in the page.
pub(super) fn begin(browser: &Browser, dashboard: &Dashboard, text: &str) {
    browser.goto(&format!("{}/chats", dashboard.origin()));
    fill(browser, "#text", text);
    press(browser, "Send");
    browser.eventually("the page of the chat", "return location.pathname.startsWith('/chats/')");
}

pub(super) fn say(browser: &Browser, text: &str) {
    fill(browser, "#text", text);
    press(browser, "Send");
}

fn busy(browser: &Browser) {
    let script = "return document.querySelector('#chat')?.getAttribute('aria-busy') === 'true'";
    browser.eventually("an answer is awaited", script);
}

pub(super) fn idle(browser: &Browser) {
    browser.eventually(
        "the answer is complete",
        "return document.querySelector('#chat')?.getAttribute('aria-busy') === 'false' \
         && document.querySelectorAll('#turn .message').length === 0",
    );
}

/// The tools that the model was offered last.
fn tools(setup: &Setup) -> String {
    setup.fixture.upstream.completions().last().unwrap().json()["tools"].to_string()
}

/// Servers list their tools again while the conversation continues.
pub(super) fn awaits_tools(
    setup: &Setup,
    browser: &Browser,
    what: &str,
    is_wanted: impl Fn(&str) -> bool,
) {
    agent_test_support::wait::eventually(what, || {
        setup.script(vec![says("Yes?")]);
        say(browser, "and now?");
        idle(browser);
        is_wanted(&tools(setup))
    });
}

#[test]
fn tools_run_only_after_approval() {
    let setup = setup();
    let path = setup.fixture.agent.work().join("notes/made.txt");
    let write = json!({"path": path, "content": "made by a model"});
    setup.script(vec![
        calls("mcp__all__echo", &json!({"message": "loud"})),
        calls("mcp__files__write_file", &write),
        calls("mcp__files__write_file", &write),
        says("I wrote **the file**."),
    ]);
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    begin(&browser, &dashboard, "write a file");
    shows(&browser, "#question-body", "made by a model");
    shows(&browser, "#question-title", "untrusted");
    assert!(!path.exists());
    browser.click("#question-actions button[value=no]");
    browser.eventually(
        "the second question",
        "return document.querySelector('#question').dataset.question === '2'",
    );
    assert!(!path.exists());
    // Another tab has the same question.
    browser.reload();
    shows(&browser, "#question-body", "made by a model");
    browser.click("#question-actions button[value=once]");
    shows(&browser, "#messages .text strong", "the file");
    assert_eq!(fs::read_to_string(&path).unwrap(), "made by a model");
    idle(&browser);
    shows(&browser, "#messages summary", "Result of mcp__all__echo");

    // It can be continued, found, exported and deleted.
    setup.script(vec![says("Nothing more.")]);
    say(&browser, "anything else?");
    shows(&browser, "#messages .text", "Nothing more.");
    browser.goto(&format!("{}/?q=anything+ELSE", dashboard.origin()));
    shows(&browser, "tbody", "write a file");
    browser.goto(&format!("{}/?q=no+such+words", dashboard.origin()));
    shows(&browser, ".empty", "No conversation has these words");
    browser.back();
    browser.click("tbody a");
    let export = browser.eval(
        "const answer = await fetch(location.pathname + '/export'); return await answer.text()",
    );
    assert!(export.as_str().unwrap().contains("## You\n\nwrite a file"), "{export}");
    press(&browser, "Delete");
    browser.click("#delete .danger");
    shows(&browser, "#notice", "The conversation is deleted");
    shows(&browser, ".empty", "No conversations yet");
}

#[test]
fn elicitation_shows_a_form_and_answers_can_be_stopped() {
    let setup = setup();
    setup.script(vec![
        calls("mcp__all__trigger_elicitation_request", &json!({})),
        says("Thank you."),
    ]);
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    begin(&browser, &dashboard, "ask me");
    shows(&browser, "#question-title", "The server all asks");
    browser.eval(
        "const values = {email: 'ada@example.com', number: '1', date: '2000-01-01', url: 'https://example.com'}; \
         for (const input of document.querySelectorAll('#question-body input:not([type=checkbox])')) \
         if (input.required || input.value === '') input.value = values[input.type] ?? 'Ada'",
    );
    press(&browser, "Send");
    shows(&browser, "#messages .text", "Thank you.");
    let asked = setup.fixture.upstream.completions();
    let last = asked.last().unwrap().json().to_string();
    assert!(last.contains("Ada"), "{last}");
    idle(&browser);

    setup.script(vec![Step::Gate]);
    say(&browser, "wait");
    press(&browser, "Stop");
    idle(&browser);
    setup.fixture.upstream.open_gate();
    setup.script(vec![says("Still here.")]);
    say(&browser, "again");
    shows(&browser, "#messages .text", "Still here.");
}

#[test]
fn conversations_survive_a_killed_dashboard() {
    let setup = setup();
    setup.script(vec![says("The first answer."), Step::Gate]);
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    begin(&browser, &dashboard, "first");
    shows(&browser, "#messages .text", "The first answer.");
    idle(&browser);
    say(&browser, "second");
    shows(&browser, "#messages", "second");
    let path = browser.eval("return location.pathname").as_str().unwrap().to_owned();
    drop(dashboard);
    setup.fixture.upstream.open_gate();
    setup.script(vec![says("The last answer.")]);
    let dashboard = Dashboard::start(&setup);
    browser.goto(&dashboard.link);
    browser.goto(&format!("{}{path}", dashboard.origin()));
    shows(&browser, "#messages", "The first answer.");
    agent_test_support::wait::eventually("the record is free", || {
        say(&browser, "third");
        let ended = "return document.querySelector('#chat').getAttribute('aria-busy') === 'false'";
        browser.eventually("it ends", ended);
        let text = browser.eval("return document.querySelector('#messages').innerText");
        text.as_str().unwrap().contains("The last answer.")
    });
}

#[test]
fn a_running_conversation_uses_an_edited_server() {
    let setup = setup();
    setup.script(vec![says("Hello.")]);
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    begin(&browser, &dashboard, "hello");
    shows(&browser, "#messages .text", "Hello.");
    let chat = browser.address();
    browser.goto(&format!("{}/servers/all/tools", dashboard.origin()));
    browser.click("input[name=use][value='echo']");
    press(&browser, "Save");
    shows(&browser, "#notice", "The configuration is saved");
    browser.goto(&chat);
    assert!(tools(&setup).contains("mcp__all__echo"));
    awaits_tools(&setup, &browser, "the tool is gone", |tools| !tools.contains("mcp__all__echo"));
}

#[test]
fn two_windows_show_the_same_conversation() {
    let setup = setup();
    setup.script(vec![says("The **first** answer.")]);
    let dashboard = Dashboard::start(&setup);
    let one = dashboard.browser();
    begin(&one, &dashboard, "first question");
    shows(&one, "#messages .text strong", "first");
    idle(&one);
    let two = Browser::start(1280, 900, ColorScheme::Light);
    two.goto(&link(&setup, &[]));
    two.goto(&one.address());
    shows(&two, "#messages", "first question");
    for (sender, other) in [(&one, &two), (&two, &one)] {
        setup.fixture.upstream.close_gate();
        setup.script(vec![Step::GateBetween("some **bold** ", "words")]);
        say(sender, "go on");
        // The text is visible before the answer ends, in both.
        for browser in [sender, other] {
            shows(browser, "#turn .streaming", "some **bold**");
            busy(browser);
            let own = "return document.querySelectorAll('#messages > .own').length";
            let count = browser.eval("return document.querySelectorAll('#messages strong').length");
            assert_eq!(browser.eval(own).as_u64(), count.as_u64().map(|count| count + 1));
            let text = browser.eval("return document.querySelector('#turn').innerText");
            assert_eq!(text.as_str().unwrap().matches("some").count(), 1, "{text}");
        }
        setup.fixture.upstream.open_gate();
        for browser in [sender, other] {
            idle(browser);
            shows(browser, "#messages .message:last-child strong", "bold");
        }
    }
}

#[test]
fn slash_commands_show_their_output_and_clear_opens_the_new_chat() {
    let setup = setup();
    setup.script(vec![says("Hello.")]);
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    begin(&browser, &dashboard, "hello");
    shows(&browser, "#messages .text", "Hello.");
    idle(&browser);
    for (command, output) in [
        ("/help", "/reload-mcp"),
        ("/tools", "read_text_file"),
        ("/model", "test/echo"),
        ("/mcp", "files"),
        ("/cost", "model calls"),
        ("/history", "hello"),
        ("/save kept.md", "saved to kept.md"),
    ] {
        say(&browser, command);
        shows(&browser, "#turn .output", output);
        idle(&browser);
    }
    say(&browser, "/nonsense");
    shows(&browser, "#turn .notice", "unknown command");
    idle(&browser);
    let path = || browser.eval("return location.pathname").as_str().unwrap().to_owned();
    let old = path();
    say(&browser, "/clear");
    browser.eventually("the new chat", &format!("return location.pathname !== '{old}'"));
    idle(&browser);
    browser.eventually("no message", "return document.querySelector('.message') === null");
    setup.script(vec![says("A new answer.")]);
    say(&browser, "after");
    shows(&browser, "#messages .text", "A new answer.");
    idle(&browser);
    assert_ne!(path(), old);
    let asked = setup.fixture.upstream.completions().last().unwrap().json().to_string();
    assert!(asked.contains("after") && !asked.contains("Hello."), "{asked}");
    browser.goto(&format!("{}{old}", dashboard.origin()));
    shows(&browser, "#messages", "hello");
}

#[test]
fn plans_sounds_and_pictures_are_shown() {
    let setup = setup();
    let sounds = python_server(
        &setup,
        "sounds",
        r#"{"type": "audio", "mimeType": "audio/wav", "data": sound()}"#,
    );
    let task = "task:\n  attachments: [audio, image]\n";
    setup.configure(&format!("{}{sounds}", config(&setup).replace("task:\n", task)));
    let plan = json!({"plan": [
        {"step": "Look <b>around</b>", "status": "completed"},
        {"step": "Answer", "status": "in_progress"},
    ]});
    setup.script(vec![
        calls("update_plan", &plan),
        calls("mcp__sounds__make", &json!({})),
        calls("mcp__all__get_tiny_image", &json!({})),
        Step::GateBetween("almost ", "done"),
    ]);
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    begin(&browser, &dashboard, "make a plan");
    shows(&browser, "#turn .streaming", "almost");
    let steps = |at: &str| {
        shows(&browser, &format!("{at} ol li:first-child"), "Look <b>around</b> done");
        shows(&browser, &format!("{at} ol li"), "Answer in progress");
    };
    steps("#turn");
    setup.fixture.upstream.open_gate();
    idle(&browser);
    steps("#messages");
    let plays = "return document.querySelector('#messages audio')?.duration > 0";
    awaits(&browser, "the sound can be played", plays);
    let image = "return document.querySelector('#messages img')?.naturalWidth > 0";
    awaits(&browser, "the image is shown", image);
    shows(&browser, "#messages details", "seconds");
}
