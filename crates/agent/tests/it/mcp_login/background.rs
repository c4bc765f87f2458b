//! Who opens a browser, and who never does.

use agent_test_support::oauth::visit;

use super::person::Person;
use super::{LoginFixture, address_in};

#[test]
fn read_only_commands_never_open_a_browser() {
    let scene = LoginFixture::new();
    for arguments in [&["mcp", "list"][..], &["mcp", "tools"], &["mcp", "doctor"]] {
        let run = Person::start(&mut scene.with_screen(arguments)).finish();
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains("`agent mcp login docs`"), "{arguments:?}: {said}");
        assert!(!said.contains("/authorize?"), "{arguments:?}: {said}");
    }
    let list = Person::start(&mut scene.with_screen(&["mcp", "list"])).finish();
    assert!(list.stdout.contains("needs sign-in"), "{}", list.transcript());
    assert_eq!(list.code, 0);
    assert_eq!(scene.opened(), [""; 0]);
    assert!(scene.server.clients().is_empty(), "nobody was registered on the way");
}

#[test]
fn without_a_terminal_no_sign_in_starts() {
    let scene = LoginFixture::new();
    for arguments in [
        &["mcp", "test", "docs"][..],
        &["mcp", "tools", "docs"],
        &["mcp", "call", "docs/echo", "--arg", "text=x"],
        &["mcp", "call", "docs/echo", "--arg", "text=x", "--json"],
    ] {
        let run =
            agent_test_support::command::ProgramOutput::of(&mut scene.with_screen(arguments), b"");
        assert_eq!(run.code, 4, "{arguments:?}: {}", run.transcript());
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains("`agent mcp login docs`"), "{arguments:?}: {said}");
    }
    assert_eq!(scene.opened(), [""; 0]);
}

#[test]
fn the_first_connection_at_a_terminal_opens_the_browser() {
    for arguments in [
        &["mcp", "test", "docs"][..],
        &["mcp", "tools", "docs"],
        &["mcp", "call", "docs/echo", "--arg", "text=hello"],
    ] {
        let scene = LoginFixture::new();
        let run = Person::start(&mut scene.with_screen(arguments)).finish();
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.transcript());
        assert_eq!(scene.opened().len(), 2, "{arguments:?}");
        assert!(scene.tokens().is_some(), "{arguments:?}");
        let again = Person::start(&mut scene.with_screen(arguments)).finish();
        assert_eq!((again.code, scene.opened().len()), (0, 2), "{arguments:?}");
        scene.assert_no_token_in(&[&run, &again]);
    }
}

#[test]
fn a_pending_sign_in_can_be_skipped() {
    let scene = LoginFixture::new();
    let arguments = ["mcp", "call", "docs/echo", "--arg", "text=x"];
    let mut person = Person::start(&mut scene.agent.command(arguments));
    person.sees("\n> ", 1);
    person.types("skip\n");
    let run = person.finish();
    assert_eq!(run.code, 4, "{}", run.transcript());
    let mut person = Person::start(&mut scene.agent.command(arguments));
    person.sees("\n> ", 1);
    person.types("\x03");
    assert_eq!(person.finish().code, 130);
    let person = Person::start(&mut scene.agent.command(arguments));
    person.sees("\n> ", 1);
    visit(&address_in(&person.shown()));
    let run = person.finish();
    assert_eq!(run.code, 0, "{}", run.transcript());
}

#[test]
fn a_missing_scope_is_reported_with_the_login_command() {
    let scene = LoginFixture::new();
    let mut login = scene.with_screen(&["mcp", "login", "docs", "--scope", "mcp:read"]);
    assert_eq!(Person::start(&mut login).finish().code, 0);
    let run = scene.agent.run(["mcp", "call", "docs/write", "--arg", "text=x"]);
    assert_eq!(run.code, 4, "{}", run.transcript());
    let command = "`agent mcp login docs --scope \"mcp:read mcp:write\"`";
    assert!(run.stderr.contains(command), "{}", run.stderr);
}

#[test]
fn a_server_that_offers_oauth_suggests_enabling_it() {
    let scene = LoginFixture::new();
    let config = format!("mcp_servers:\n  docs:\n    url: {}\n", scene.server.mcp_url());
    std::fs::write(scene.agent.home().join("config.yaml"), config).unwrap();
    let run = scene.agent.run(["mcp", "test", "docs"]);
    assert_eq!(run.code, 4, "{}", run.transcript());
    assert!(run.stderr.contains("set `auth: oauth` for docs"), "{}", run.stderr);
}
