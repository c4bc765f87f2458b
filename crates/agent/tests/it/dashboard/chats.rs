//! Conversations in the page.

use agent_test_support::upstream::Step;
use serde_json::json;

use super::*;
use crate::chat::{calls, says};

/// Begins a conversation in the page.
fn begin(browser: &Browser, dashboard: &Dashboard, text: &str) {
    browser.goto(&format!("{}/chats", dashboard.origin()));
    fill(browser, "#text", text);
    press(browser, "Send");
    browser.eventually("the page of the chat", "return location.pathname.startsWith('/chats/')");
}

fn idle(browser: &Browser) {
    browser.eventually(
        "the answer is complete",
        "return document.querySelector('#chat')?.getAttribute('aria-busy') === 'false' \
         && document.querySelectorAll('#turn .message').length === 0",
    );
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
    fill(&browser, "#text", "anything else?");
    press(&browser, "Send");
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
    fill(&browser, "#text", "wait");
    press(&browser, "Send");
    press(&browser, "Stop");
    idle(&browser);
    setup.fixture.upstream.open_gate();
    setup.script(vec![says("Still here.")]);
    fill(&browser, "#text", "again");
    press(&browser, "Send");
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
    fill(&browser, "#text", "second");
    press(&browser, "Send");
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
        fill(&browser, "#text", "third");
        press(&browser, "Send");
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
    let tools = || setup.fixture.upstream.completions().last().unwrap().json()["tools"].to_string();
    assert!(tools().contains("mcp__all__echo"));
    // The server lists its tools again while the conversation continues.
    agent_test_support::wait::eventually("the tool is gone", || {
        setup.script(vec![says("Yes?")]);
        fill(&browser, "#text", "and now?");
        press(&browser, "Send");
        idle(&browser);
        !tools().contains("mcp__all__echo")
    });
}
