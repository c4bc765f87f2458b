//! Approvals, skills and models, with content; and the pages that only some visitors see.

use std::net::TcpListener;

use agent_test_support::upstream::Step;
use serde_json::json;

use super::chats::{begin, idle, say};
use super::*;
use crate::chat::{calls, says};

/// Checks a page that is open.
fn is_accessible(browser: &Browser) {
    let found = browser.accessibility_findings();
    assert!(found.is_empty(), "{}: {found:#?}", browser.address());
}

#[test]
fn approvals_given_in_a_chat_are_listed_and_revoked() {
    let setup = setup();
    let path = setup.fixture.agent.work().join("notes/made.txt");
    let write = || calls("mcp__files__write_file", &json!({"path": path, "content": "x"}));
    setup.script(vec![write(), says("One."), write(), says("Two."), write(), says("Three.")]);
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    begin(&browser, &dashboard, "write");
    shows(&browser, "#question-body", "made.txt");
    is_accessible(&browser);
    browser.click("#question-actions button[value=always]");
    shows(&browser, "#messages .text", "One.");
    idle(&browser);
    say(&browser, "again");
    shows(&browser, "#messages .text", "Two.");
    idle(&browser);
    is_accessible(&browser);
    let chat = browser.address();
    browser.goto(&format!("{}/approvals", dashboard.origin()));
    shows(&browser, "tbody", "write_file");
    is_accessible(&browser);
    press(&browser, "Revoke");
    shows(&browser, "#notice", "The approval is revoked");
    shows(&browser, ".empty", "No tool is approved");
    browser.goto(&chat);
    say(&browser, "and again");
    shows(&browser, "#question-body", "made.txt");
    browser.click("#question-actions button[value=once]");
    shows(&browser, "#messages .text", "Three.");
}

#[test]
fn skills_are_archived_and_restored_and_models_are_listed() {
    let setup = setup();
    let home = setup.fixture.agent.home();
    let skill = home.join("skills/greet");
    fs::create_dir_all(&skill).unwrap();
    fs::write(
        skill.join("SKILL.md"),
        "---\nname: greet\ndescription: How to greet.\n---\n\nSay **hello**.\n",
    )
    .unwrap();
    fs::create_dir_all(home.join("models")).unwrap();
    fs::write(home.join("models/broken.gguf"), "not a model").unwrap();
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    browser.goto(&format!("{}/skills", dashboard.origin()));
    is_accessible(&browser);
    browser.click("tbody a");
    shows(&browser, ".text strong", "hello");
    is_accessible(&browser);
    browser.back();
    press(&browser, "Archive");
    shows(&browser, "#notice", "The skill is archived");
    shows(&browser, ".empty", "No skills yet");
    assert!(!skill.exists());
    is_accessible(&browser);
    press(&browser, "Restore");
    shows(&browser, "#notice", "The skill is restored");
    shows(&browser, "tbody", "greet");
    assert!(skill.exists());
    browser.goto(&format!("{}/models", dashboard.origin()));
    shows(&browser, "tbody", "broken");
    is_accessible(&browser);
    press(&browser, "Delete");
    browser.click("dialog[open] .danger");
    shows(&browser, "#notice", "The model file is deleted");
}

#[test]
fn pages_of_single_visits_are_accessible() {
    let setup = setup();
    let dashboard = Dashboard::start(&setup);
    let browser = Browser::start(1280, 900, ColorScheme::Light);
    browser.goto(&dashboard.origin());
    heading(&browser, "Open the dashboard");
    is_accessible(&browser);
    let entry = json!({"command": "sh", "args": ["-c", "true"], "env": {"PATH": "/tmp"}});
    let install = mcp_client::install_link::build("tool", entry.as_object().unwrap()).unwrap();
    browser.goto(&link(&setup, &["--link", &install]));
    heading(&browser, "Install this server?");
    is_accessible(&browser);
}

#[test]
fn hostile_answers_and_file_names_stay_text() {
    let setup = setup();
    let evil = "<img src=x onerror=alert(1)><script>alert(2)</script>.txt";
    let name = evil.replace('/', "_");
    fs::write(setup.fixture.agent.work().join("notes").join(&name), "x").unwrap();
    let folder = setup.fixture.agent.work().join("notes");
    let markdown = "<script>alert(1)</script> <img src=x onerror=alert(2)>\n\n\
        [click](javascript:alert(3)) ![shot](https://evil.example/x.png)\n\n\
        <a href=\"javascript:alert(4)\">more</a>\n\n```html\n<script>alert(5)</script>\n```\n";
    setup.script(vec![
        calls("mcp__files__list_directory", &json!({"path": folder})),
        Step::GateBetween("<b>live</b>", markdown),
    ]);
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    begin(&browser, &dashboard, "<script>alert(0)</script>");
    let is_text = |at: &str| {
        let found = "main script, main img, main b, main iframe, main [onerror], \
                     main a[href^='javascript:']";
        let count = browser.eval(&format!("return document.querySelectorAll(\"{found}\").length"));
        assert_eq!(count, 0, "{at}");
    };
    shows(&browser, "#turn .streaming", "<b>live</b>");
    shows(&browser, "#turn details", &name);
    is_text("while it arrives");
    setup.fixture.upstream.open_gate();
    idle(&browser);
    shows(&browser, "#messages .text", "<script>alert(1)</script>");
    shows(&browser, "#messages details", &name);
    is_text("afterwards");
    assert!(browser.eval("return document.title").as_str().unwrap().contains("<script>"));
}

#[test]
fn pages_are_not_shown_in_frames_of_other_pages() {
    let setup = setup();
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    // The site is the same, so that the browser sends the cookie.
    let page = format!(
        "<iframe src='/own'></iframe><iframe src='{}/servers'></iframe>",
        dashboard.origin()
    );
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            let read = stream.read(&mut head).unwrap_or(0);
            let body = if head[..read].starts_with(b"GET /own ") { "framed" } else { &page };
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\
                 connection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    browser.goto(&format!("http://127.0.0.1:{port}/"));
    let frames = browser.frames();
    assert_eq!(
        frames,
        [format!("http://127.0.0.1:{port}/own"), "chrome-error://chromewebdata/".to_owned()]
    );
    browser.goto(&format!("{}/servers", dashboard.origin()));
    heading(&browser, "Servers");
}

#[test]
fn chats_of_the_page_are_counted_as_desktop() {
    let setup = setup();
    assert_eq!(setup.agent(&["metrics", "on"]).code, 0);
    setup.script(vec![says("Hello.")]);
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    begin(&browser, &dashboard, "hello");
    shows(&browser, "#messages .text", "Hello.");
    idle(&browser);
    say(&browser, "/metrics");
    shows(&browser, "#turn .output", "execution_surface");
    let text = browser.eval("return document.querySelector('#turn .output').textContent");
    let package: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
    let metrics = package["metrics"].as_array().unwrap().iter();
    let surfaces: Vec<&Value> = metrics
        .map(|metric| &metric["dimensions"]["execution_surface"])
        .filter(|surface| !surface.is_null())
        .collect();
    assert!(!surfaces.is_empty() && surfaces.iter().all(|it| **it == "desktop"), "{package}");
}
