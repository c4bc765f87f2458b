//! Servers: their state, their keys, their tools, and links that install one.

use super::*;

#[test]
fn servers_are_watched_toggled_and_removed() {
    let setup = setup();
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    browser.goto(&format!("{}/servers", dashboard.origin()));
    for name in ["files", "all"] {
        let ready = format!(
            "const row = [...document.querySelectorAll('tbody tr')].find((it) => it.innerText.includes('{name}')); \
             return row?.querySelector('.tag')?.textContent === 'ready'"
        );
        browser.eventually(&format!("{name} is ready"), &ready);
    }
    shows(&browser, "tbody td", " ms");
    browser.goto(&format!("{}/servers/files", dashboard.origin()));
    shows(&browser, ".facts", "secure-filesystem-server");
    press(&browser, "Disable");
    shows(&browser, "#notice", "The server is disabled");
    assert!(config(&setup).contains("timeout: 60 # seconds"), "{}", config(&setup));
    assert!(config(&setup).contains("enabled: false"), "{}", config(&setup));
    shows(&browser, ".facts", "disabled");
    press(&browser, "Enable");
    shows(&browser, "#notice", "The server is enabled");
    press(&browser, "Test");
    heading(&browser, "Test of files");
    shows(&browser, "#job", "initialize");
    shows(&browser, "#job .tag", "done");
    shows(&browser, "#job", "files works.");
    browser.goto(&format!("{}/servers/all", dashboard.origin()));
    press(&browser, "Remove");
    press(&browser, "Remove all");
    shows(&browser, "#notice", "The server is removed");
    let text = config(&setup);
    assert!(!text.contains("  all:") && text.contains("# my notes"), "{text}");
}

#[test]
fn every_key_can_be_edited_with_its_documentation() {
    let setup = setup();
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    let edit = format!("{}/servers/files/edit", dashboard.origin());
    browser.goto(&edit);
    heading(&browser, "Edit files");
    let count = browser.eval("return document.querySelectorAll('textarea').length");
    assert!(count.as_u64().unwrap() > 25, "{count}");
    shows(&browser, ".hint", "Timeout of the first connection in seconds.");
    fill(&browser, "[name='key.timeout']", "never");
    press(&browser, "Save");
    // A wrong value is replaced by the default, and said so where it is.
    shows(&browser, ".notice.warn", "timeout must be a number, found `never`");
    browser.goto(&edit);
    shows(&browser, ".wrong", "must be a number, found `never`");
    fill(&browser, "[name='key.timeout']", "90");
    fill(&browser, "[name='key.tools.exclude']", "[\"write_file\"]");
    fill(&browser, "[name='key.trust']", "");
    press(&browser, "Save");
    shows(&browser, "#notice", "The configuration is saved");
    let text = config(&setup);
    assert!(text.contains("timeout: 90 # seconds") && text.contains("write_file"), "{text}");
    assert!(!text.contains("trust:") && text.contains("# my notes"), "{text}");
}

#[test]
fn tools_are_filtered_and_tested() {
    let setup = setup();
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    let tools = format!("{}/servers/all/tools", dashboard.origin());
    browser.goto(&tools);
    browser.click("input[name=use][value='get-env']");
    press(&browser, "Save");
    shows(&browser, "#notice", "The configuration is saved");
    assert!(config(&setup).contains("get-env"), "{}", config(&setup));
    browser.goto(&tools);
    let is_off = "return document.querySelector(\"input[name=use][value='get-env']\").checked";
    assert_eq!(browser.eval(is_off), false);

    browser.goto(&format!("{tools}/get-sum"));
    fill(&browser, "[name='argument.a']", "two");
    fill(&browser, "[name='argument.b']", "40");
    press(&browser, "Call");
    shows(&browser, "#notice", "“two” is not a number");
    fill(&browser, "[name='argument.a']", "2");
    press(&browser, "Call");
    shows(&browser, "#result", "42");
    browser.goto(&format!("{tools}/get-tiny-image"));
    press(&browser, "Call");
    browser.eventually(
        "the image is shown",
        "const image = document.querySelector('#result img'); return image?.complete && image.naturalWidth > 0",
    );
    // An untrusted tool needs its check mark.
    browser.goto(&format!("{}/servers/files/tools/write_file", dashboard.origin()));
    let path = setup.fixture.agent.work().join("notes/new.txt");
    fill(&browser, "[name='argument.path']", &path.display().to_string());
    fill(&browser, "[name='argument.content']", "hello");
    press(&browser, "Call");
    shows(&browser, "#notice", "approv");
    assert!(!path.exists());
    browser.click("[name=approve]");
    press(&browser, "Call");
    shows(&browser, "#result", "Successfully wrote");
    assert_eq!(fs::read_to_string(path).unwrap(), "hello");
}

#[test]
fn servers_are_added_after_their_command_was_confirmed() {
    let setup = setup();
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    browser.goto(&format!("{}/servers-add", dashboard.origin()));
    fill(
        &browser,
        "#pasted",
        r#"{"mcpServers": {"pasted": {"command": "sh", "args": ["-c", "cat"], "env": {"PATH": "/tmp"}}}}"#,
    );
    press(&browser, "Check");
    shows(&browser, "main", "it runs a shell");
    shows(&browser, "main", "sh -c cat");
    assert!(!config(&setup).contains("pasted"));
    press(&browser, "Cancel");
    let server = everything_stdio();
    fill(&browser, "#name", "typed");
    fill(
        &browser,
        "#reached_by",
        &format!("{} {}", server.command.display(), server.args.join(" ")),
    );
    fill(&browser, "#variables", "WORD=secret-word-of-mine");
    press(&browser, "Check");
    shows(&browser, "main", "This starts a program on this machine");
    press(&browser, "Add");
    shows(&browser, "#notice", "The server is added");
    assert!(config(&setup).contains("  typed:"), "{}", config(&setup));
    browser.goto(&format!("{}/servers-add", dashboard.origin()));
    fill(&browser, "#pasted", "{\"mcpServers\": 7}");
    press(&browser, "Check");
    browser.eventually("an error", "return document.querySelector('#notice.bad') !== null");
}

#[test]
fn a_link_is_installed_once_and_only_by_its_dialog() {
    let setup = setup();
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    let hidden = format!("{}\u{202e}", " ".repeat(4000));
    let entry = serde_json::json!({"command": "python3", "args": ["-c", "print(1)", hidden], "env": {"LD_PRELOAD": "/tmp/x.so"}});
    let link = mcp_client::install_link::build("files", entry.as_object().unwrap()).unwrap();
    let open = |link: &str| super::link(&setup, &["--link", link]);
    browser.goto(&open(&link));
    heading(&browser, "Install this server?");
    shows(&browser, "main", "…(4000 spaces)…");
    shows(&browser, "main", "\\u202e");
    shows(&browser, "main", "LD_PRELOAD");
    shows(&browser, "main", "it may execute code in its arguments");
    shows(&browser, "main", "A server of this name exists already");
    let before = config(&setup);
    press(&browser, "Install");
    shows(&browser, "#notice", "exists already");
    assert_eq!(config(&setup), before);
    let dialog = browser.address();
    fill(&browser, "#name", "linked");
    press(&browser, "Install");
    shows(&browser, "#notice", "The server is added");
    assert!(config(&setup).contains("  linked:"));
    browser.goto(&dialog);
    shows(&browser, "#notice", "answered already");
    let refused = mcp_client::install_link::build("other", entry.as_object().unwrap()).unwrap();
    browser.goto(&open(&refused));
    press(&browser, "Cancel");
    heading(&browser, "Servers");
    assert!(!config(&setup).contains("other"));
    browser.goto(&open("agent://mcp/install?name=x"));
    shows(&browser, "#notice", "rejected");
}

#[test]
fn names_and_texts_of_servers_are_escaped() {
    let setup = Setup::new();
    let hostile = r#"
import sys, json
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    method, evil = message["method"], "<img src=x onerror=alert(1)><script>alert(2)</script>"
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": evil, "version": evil}}
    elif method == "tools/list":
        result = {"tools": [{"name": "evil", "description": evil, "inputSchema": {"type": "object", "properties": {evil: {"type": "string", "description": evil}}}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": evil}, {"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zz4="}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;
    let script = setup.fixture.agent.work().join("hostile.py");
    fs::write(&script, hostile).unwrap();
    setup.configure(&format!(
        "mcp_servers:\n  hostile:\n    command: python3\n    args: [{}]\n",
        script.display()
    ));
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    for page in
        ["/servers", "/servers/hostile", "/servers/hostile/tools", "/servers/hostile/tools/evil"]
    {
        browser.goto(&format!("{}{page}", dashboard.origin()));
        if page == "/servers/hostile" {
            shows(&browser, ".facts", "<img src=x");
        }
        assert_eq!(
            browser.eval("return document.querySelectorAll('main img, main script').length"),
            0,
            "{page}"
        );
    }
    press(&browser, "Call");
    shows(&browser, "#result", "<script>alert(2)</script>");
    assert_eq!(
        browser.eval("return document.querySelectorAll('main script, main svg script').length"),
        0
    );
}

#[test]
fn install_links_of_the_desktop_open_the_dashboard() {
    let setup = setup();
    let work = setup.fixture.agent.work();
    let desktop = |command: &mut Command| {
        command
            .env_remove("XDG_CURRENT_DESKTOP")
            .env("HOME", work)
            .env("XDG_DATA_HOME", work.join("share"))
            .env("XDG_CONFIG_HOME", work.join("config"))
            .env("DISPLAY", ":0")
            .env("AGENT_HOME", setup.fixture.agent.home());
    };
    // A browser that only notes where it should go.
    let applications = work.join("share/applications");
    fs::create_dir_all(&applications).unwrap();
    fs::create_dir_all(work.join("config")).unwrap();
    let write = "printf '#!/bin/sh\\necho \"$1\" > \"$0.opened\"\\n' > browser && chmod +x browser";
    assert!(Command::new("sh").args(["-c", write]).current_dir(work).status().unwrap().success());
    let program = work.join("browser");
    let note = format!(
        "[Desktop Entry]\nType=Application\nName=note\nTerminal=false\nExec={} %u\n",
        program.display()
    );
    fs::write(applications.join("note.desktop"), note).unwrap();
    let choice = "[Default Applications]\nx-scheme-handler/http=note.desktop\n";
    fs::write(work.join("config/mimeapps.list"), choice).unwrap();
    let mut register = setup.command(["mcp", "register-links"]);
    desktop(&mut register);
    let registered = agent_test_support::command::ProgramOutput::of(&mut register, b"");
    assert_eq!(registered.code, 0, "{}", registered.transcript());
    let entry = serde_json::json!({"url": "https://example.com/mcp"});
    let link = mcp_client::install_link::build("linked", entry.as_object().unwrap()).unwrap();
    let mut open = Command::new("xdg-open");
    desktop(open.arg(&link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    let mut opening = open.spawn().unwrap();
    let opened = work.join("browser.opened");
    agent_test_support::wait::eventually("the dashboard opens a browser", || {
        fs::read_to_string(&opened).is_ok_and(|text| text.ends_with('\n'))
    });
    let browser = Browser::start(1280, 900, ColorScheme::Light);
    browser.goto(fs::read_to_string(&opened).unwrap().trim());
    heading(&browser, "Install this server?");
    assert!(!config(&setup).contains("linked"));
    press(&browser, "Install");
    shows(&browser, "#notice", "The server is added");
    assert!(config(&setup).contains("  linked:"));
    // The handler is the dashboard, which ends with its group.
    let socket = setup.fixture.agent.home().join("dashboard.sock");
    let id = rustix::net::sockopt::socket_peercred(
        std::os::unix::net::UnixStream::connect(socket).unwrap(),
    );
    rustix::process::kill_process(id.unwrap().pid, rustix::process::Signal::TERM).unwrap();
    opening.wait().unwrap();
}

#[test]
fn sounds_and_structured_results_of_a_tool_are_shown() {
    let setup = Setup::new();
    let sounds = python_server(
        &setup,
        "sounds",
        r#"{"type": "audio", "mimeType": "audio/wav", "data": sound()}"#,
    );
    setup.configure(&format!("mcp_servers:\n{sounds}"));
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    browser.goto(&format!("{}/servers/sounds/tools/make", dashboard.origin()));
    press(&browser, "Call");
    shows(&browser, "#result pre", "\"seconds\": 0.5");
    let plays = "return document.querySelector('#result audio')?.duration > 0";
    awaits(&browser, "the sound can be played", plays);
}

#[test]
fn literal_secrets_survive_edits_of_the_page() {
    let setup = Setup::new();
    setup.configure(
        "mcp_servers:\n  api:\n    url: http://127.0.0.1:1/mcp\n    enabled: false\n    headers:\n      \
         Authorization: Bearer literal-secret-1234\n  tool:\n    command: python3\n    enabled: false\n    \
         args: [--token, literal-secret-5678]\n    env: {API_TOKEN: literal-secret-9012, MODE: fast}\n",
    );
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    let edit = |server: &str, key: &str, change: &str| {
        browser.goto(&format!("{}/servers/{server}/edit", dashboard.origin()));
        let field = format!("document.querySelector(\"[name='key.{key}']\")");
        let shown = browser.eval(&format!("return {field}.value"));
        assert!(shown.as_str().unwrap().contains("[redacted:"), "{shown}");
        browser.eval(&format!(
            "const field = {field}, value = JSON.parse(field.value); {change}; \
             field.value = JSON.stringify(value)"
        ));
        press(&browser, "Save");
    };
    edit("api", "headers", "value['X-Team'] = 'red'");
    shows(&browser, "#notice", "The configuration is saved");
    let text = config(&setup);
    assert!(text.contains("Bearer literal-secret-1234") && text.contains("X-Team"), "{text}");
    edit(
        "tool",
        "env",
        "value.OTHER_TOKEN = value.API_TOKEN; delete value.API_TOKEN; value.MODE = 'slow'",
    );
    shows(&browser, "#notice", "The configuration is saved");
    let text = config(&setup);
    assert!(text.contains("OTHER_TOKEN") && text.contains("literal-secret-9012"), "{text}");
    assert!(text.contains("slow") && !text.contains("redacted"), "{text}");
    edit("api", "headers", "value.Authorization = 'Basic ' + value.Authorization");
    shows(&browser, "#notice", "`headers` contains a hidden secret");
    assert_eq!(config(&setup), text);
}

#[test]
fn imported_servers_are_started_in_running_chats() {
    let setup = setup();
    let user = setup.fixture.agent.work().join("user");
    fs::create_dir_all(user.join(".cursor")).unwrap();
    let server = everything_stdio();
    let entry = serde_json::json!({"mcpServers": {"imported": {
        "command": server.command, "args": server.args,
        "env": server.env.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
    }}});
    fs::write(user.join(".cursor/mcp.json"), entry.to_string()).unwrap();
    setup.script(vec![crate::chat::says("Hello.")]);
    let mut command = setup.command(["--json", "dashboard", "--no-open"]);
    let dashboard = Dashboard::with(command.env("HOME", &user));
    let browser = dashboard.browser();
    super::chats::begin(&browser, &dashboard, "hello");
    shows(&browser, "#messages .text", "Hello.");
    let chat = browser.address();
    browser.goto(&format!("{}/servers-import", dashboard.origin()));
    shows(&browser, "pre", "imported");
    assert_eq!(browser.accessibility_findings(), [""; 0]);
    press(&browser, "Import all new servers");
    shows(&browser, "#job .tag", "done");
    assert!(config(&setup).contains("  imported:"));
    browser.goto(&chat);
    super::chats::awaits_tools(&setup, &browser, "the imported tools", |tools| {
        tools.contains("mcp__imported__echo")
    });
}

#[test]
fn an_unchanged_choice_of_tools_keeps_patterns() {
    let setup = setup();
    let before = config(&setup).replace("  all:\n", "  all:\n    tools: {exclude: [\"get-*\"]}\n");
    setup.configure(&before);
    let dashboard = Dashboard::start(&setup);
    let browser = dashboard.browser();
    let tools = format!("{}/servers/all/tools", dashboard.origin());
    browser.goto(&tools);
    press(&browser, "Save");
    heading(&browser, "all");
    assert_eq!(config(&setup), before);
    // The majority of the tools is not used: the others are listed.
    browser.goto(&tools);
    browser.eval(
        "const boxes = [...document.querySelectorAll('input[name=use]')]; \
         boxes.forEach((it) => { it.checked = it.value === 'echo' })",
    );
    press(&browser, "Save");
    shows(&browser, "#notice", "The configuration is saved");
    let text = config(&setup);
    assert!(text.contains("include") && text.contains("echo"), "{text}");
    assert!(!text.contains("get-*"), "{text}");
}
