//! The ways in: a browser, a paste, a program; and the ways out on the way.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use agent_test_support::command::ProgramOutput;
use agent_test_support::oauth::{Endpoint, Fault, Script, visit};
use serde_json::{Value, json};

use super::person::Person;
use super::{LoginFixture, address_in};

#[test]
fn login_opens_the_browser_and_stores_tokens() {
    let scene = LoginFixture::new();
    let run = scene.sign_in();
    assert_eq!(run.stdout, "Signed in to docs; 2 tools\n");
    // The opener gets the address as one argument, whatever is in it.
    let opened = scene.opened();
    assert_eq!((opened.len(), &*opened[0]), (2, "1"), "{opened:?}");
    assert_eq!(opened[1], address_in(&run.stderr));
    for told in ["Signing in to docs", scene.server.issuer(), "Ctrl-C", "renewed automatically"] {
        assert!(run.stderr.contains(told), "{told}: {}", run.stderr);
    }
    assert!(!run.stderr.contains("ssh "), "{}", run.stderr);
    assert_eq!(scene.files(), ["docs.client.json", "docs.json", "docs.meta.json"]);
    let mode =
        |name: &str| fs::metadata(scene.folder().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("docs.json"), mode("docs.client.json")), (0o700, 0o600, 0o600));
}

#[test]
fn no_output_contains_a_token() {
    let scene = LoginFixture::new();
    let mut login = scene.with_screen(&["mcp", "login", "docs", "--verbose"]);
    let runs = [
        Person::start(&mut login).finish(),
        scene.agent.run(["mcp", "status", "docs", "--verbose"]),
        scene.agent.run(["mcp", "status", "--json"]),
        scene.agent.run(["mcp", "list", "--json", "--verbose"]),
        scene.agent.run(["mcp", "test", "docs", "--verbose"]),
        scene.agent.run(["mcp", "doctor", "--json", "--verbose"]),
        scene.agent.run(["mcp", "call", "docs/echo", "--arg", "text=x", "--verbose"]),
    ];
    for run in &runs {
        assert_eq!(run.code, 0, "{}", run.transcript());
    }
    scene.assert_no_token_in(&runs.each_ref());
}

#[test]
fn over_ssh_the_tunnel_is_shown_and_the_redirect_can_be_pasted() {
    let scene = LoginFixture::new();
    let mut command = scene.with_screen(&["mcp", "login", "docs"]);
    command
        .env_remove("BROWSER")
        .env("SSH_CONNECTION", "10.0.0.2 50123 10.0.0.1 2222")
        .env("USER", "ada");
    let mut person = Person::start(&mut command);
    person.sees("\n> ", 1);
    let shown = person.shown();
    let landed = without_arriving(&address_in(&shown));
    let port = landed.split(':').nth(2).unwrap().split('/').next().unwrap();
    let tunnel = format!("\n  ssh -N -L {port}:127.0.0.1:{port} -p 2222 ada@10.0.0.1\n");
    assert!(shown.contains(&tunnel), "{tunnel}: {shown}");
    person.types("http://127.0.0.1/callback?code=x&state=other\n");
    person.sees("the URL belongs to another sign-in", 1).sees("\n> ", 2);
    person.types("what?\n");
    person.sees("not a redirect URL of this sign-in", 1).sees("\n> ", 3);
    // Longer than a terminal lets a line be.
    let long = format!("{landed}&more={}\n", "x".repeat(6000));
    person.types(&long);
    let run = person.finish();
    assert_eq!((run.code, &*run.stdout), (0, "Signed in to docs; 2 tools\n"), "{}", run.stderr);
    assert_eq!(scene.opened(), [""; 0], "no browser over SSH");
    // What was pasted holds a code, and is not repeated.
    let code = landed.split("code=").nth(1).unwrap().split('&').next().unwrap();
    assert!(!run.stderr.contains(code), "{}", run.stderr);
}

#[test]
fn login_is_cancelled_by_a_keyword_empty_lines_or_eof() {
    for typed in ["skip\n", "\n\n", "Q\n", "\x04", "xx\x15no\n"] {
        let scene = LoginFixture::new();
        let mut person = Person::start(&mut scene.agent.command(["mcp", "login", "docs"]));
        for (at, line) in typed.split_inclusive('\n').enumerate() {
            person.sees("\n> ", at + 1);
            person.types(line);
        }
        let run = person.finish();
        assert_eq!((run.code, &*run.stdout), (4, ""), "{typed:?}: {}", run.stderr);
        assert!(run.stderr.contains("the sign-in was cancelled"), "{}", run.stderr);
        assert!(run.stderr.contains("`agent mcp login docs`"), "{}", run.stderr);
        assert!(scene.tokens().is_none());
    }
}

#[test]
fn a_cancelled_login_keeps_the_old_tokens() {
    let scene = LoginFixture::new();
    scene.sign_in();
    let before = scene.tokens();
    let mut person = Person::start(&mut scene.agent.command(["mcp", "login", "docs"]));
    person.sees("\n> ", 1);
    assert!(!person.has_an_ordinary_terminal());
    person.types("half an addr\x03");
    let run = person.finish();
    assert_eq!(run.code, 130, "{}", run.transcript());
    assert_eq!(scene.tokens(), before);
    let list = scene.agent.run(["mcp", "list", "--json"]);
    assert!(list.stdout.contains("\"state\": \"ready\""), "{}", list.transcript());
}

#[test]
fn login_does_not_consume_later_input() {
    let scene = LoginFixture::new();
    let script = "\"$0\" mcp login docs && read line && echo \"then: $line\"";
    let mut shell = shell(&scene, script);
    let mut person = Person::start(&mut shell);
    person.sees("Expires: in", 1);
    person.types("hello\n");
    let run = person.finish();
    assert_eq!(run.stdout, "Signed in to docs; 2 tools\nthen: hello\n", "{}", run.stderr);
}

#[test]
fn json_output_has_the_url_and_the_outcome() {
    let scene = LoginFixture::new();
    let mut command = scene.with_screen(&["mcp", "login", "docs", "--json", "--scope", "a b"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    let asked = &told["sign_in"];
    assert_eq!((&asked["server"], &asked["scope"]), (&json!("docs"), &json!("a b")), "{told}");
    assert_eq!(asked["issuer"], scene.server.issuer());
    visit(asked["address"].as_str().unwrap());
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    stderr.read_to_string(&mut line).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stdout}{line}");
    let outcome: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(outcome["signed_in"], true);
    assert_eq!((&outcome["connected"], &outcome["tools"]), (&json!(true), &json!(2)));
    assert_eq!(outcome["client"]["kind"], "registration");
    assert_eq!(outcome["scope"], "a b");
    assert_eq!(scene.opened(), [""; 0], "a client that reads JSON opens the page");
    scene.assert_no_token_in(&[&ProgramOutput { code: 0, stdout, stderr: line }]);
}

#[test]
fn without_a_terminal_the_url_is_printed_and_stdin_ignored() {
    let scene = LoginFixture::new();
    let arguments = ["mcp", "login", "docs", "--timeout", "1", "--quiet"];
    let run = scene.agent.run_with_input(arguments, b"skip\n");
    assert_eq!((run.code, &*run.stdout), (4, ""), "{}", run.stderr);
    address_in(&run.stderr);
    assert!(run.stderr.contains("did not return within 1 s"), "{}", run.stderr);
    assert!(run.stderr.contains("--timeout"), "{}", run.stderr);
}

#[test]
fn no_browser_option_opens_no_browser() {
    let scene = LoginFixture::new();
    let arguments = ["mcp", "login", "docs", "--no-browser"];
    let mut person = Person::start(&mut scene.with_screen(&arguments));
    person.sees("\n> ", 1).sees("ssh -N -L", 1);
    let mut command = scene.with_screen(&["mcp", "login", "docs"]);
    command.env("BROWSER", "none");
    let mut other = Person::start(&mut command);
    other.sees("\n> ", 1);
    for person in [person.types("skip\n"), other.types("skip\n")] {
        person.sees("cancelled", 1);
    }
    assert_eq!((person.finish().code, other.finish().code), (4, 4));
    assert_eq!(scene.opened(), [""; 0]);
}

#[test]
fn without_a_startable_browser_the_printed_url_works() {
    let scene = LoginFixture::new();
    // A path with nothing on it: there is no `xdg-open` either.
    let script = "PATH=/nowhere exec \"$0\" mcp login docs";
    let mut shell = shell(&scene, script);
    shell.env("BROWSER", "/no/such/browser");
    let person = Person::start(&mut shell);
    person.sees("cannot start a browser: `/no/such/browser`: ", 1);
    person.sees("Open this page in a browser:", 1).sees("\n> ", 1);
    visit(&address_in(&person.shown()));
    assert_eq!(person.finish().code, 0);
}

#[test]
fn login_uses_the_browser_variable_over_ssh() {
    let scene = LoginFixture::new();
    let mut command = scene.with_screen(&["mcp", "login", "docs"]);
    command.env_remove("DISPLAY").env("SSH_CONNECTION", "10.0.0.2 50123 10.0.0.1 22");
    let run = Person::start(&mut command).finish();
    assert_eq!(run.code, 0, "{}", run.transcript());
    assert_eq!(scene.opened().len(), 2);
    assert!(run.stderr.contains("ssh -N -L"), "{}", run.stderr);
}

#[test]
fn every_signal_restores_the_terminal() {
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("QUIT", 131), ("INT", 130)] {
        let scene = LoginFixture::new();
        let script = "echo $$ > pid; exec \"$0\" mcp login docs --no-browser";
        let person = Person::start(&mut shell(&scene, script));
        person.sees("\n> ", 1);
        assert!(!person.has_an_ordinary_terminal());
        let pid = fs::read_to_string(scene.agent.work().join("pid")).unwrap();
        let sent = Command::new("kill").args(["-s", signal, pid.trim()]).status().unwrap();
        assert!(sent.success());
        let run = person.finish();
        assert_eq!(run.code, code, "{signal}: {}", run.transcript());
    }
}

#[test]
fn an_unwritable_token_folder_is_a_local_error() {
    let scene = LoginFixture::new();
    fs::write(scene.folder(), "no folder").unwrap();
    let run = Person::start(&mut scene.with_screen(&["mcp", "login", "docs"])).finish();
    assert_eq!(run.code, 1, "{}", run.transcript());
    assert!(run.stderr.contains("mcp-tokens"), "{}", run.stderr);
}

#[test]
fn entry_errors_are_reported_before_login() {
    let scene = LoginFixture::new();
    scene.configure("      client_id: ${MYID}\n");
    let run = scene.agent.run(["mcp", "login", "docs"]);
    assert_eq!(run.code, 3, "{}", run.transcript());
    assert!(run.stderr.contains("the variable `MYID` is not set"), "{}", run.stderr);
    assert!(scene.server.requests().is_empty());
    scene.configure("      client_name: ${MYNAME}\n");
    for arguments in [&["tools", "docs"][..], &["call", "docs/echo"], &["test", "docs"]] {
        let run = scene.agent.run(["mcp"].iter().chain(arguments));
        let told = format!("{}{}", run.stdout, run.stderr);
        assert!(told.contains("the variable `MYNAME` is not set"), "{arguments:?}: {told}");
        assert_eq!(run.code, 4, "{}", run.transcript());
    }
    assert_eq!(scene.agent.run(["mcp", "tools"]).code, 4);
}

#[test]
fn an_unparsable_configuration_is_named() {
    let scene = LoginFixture::new();
    let broken = "mcp_servers:\n  docs:\n    url: [\n";
    fs::write(scene.agent.home().join("config.yaml"), broken).unwrap();
    for arguments in [
        &["login", "docs"][..],
        &["test", "docs"],
        &["call", "docs/echo"],
        &["call", "mcp__docs__echo"],
        &["logout", "docs"],
        &["status"],
        &["status", "docs"],
        &["tools"],
        &["tools", "docs"],
        &["client-document"],
    ] {
        let run = scene.agent.run(["mcp"].iter().chain(arguments));
        assert_eq!(run.code, 3, "{arguments:?}: {}", run.transcript());
        assert!(run.stderr.contains("config.yaml is invalid"), "{}", run.stderr);
        assert!(run.stderr.contains("config.yaml:"), "{}", run.stderr);
    }
}

#[test]
fn login_of_a_server_without_oauth_explains_the_setting() {
    let scene = LoginFixture::new();
    let config = "mcp_servers:\n  plain:\n    url: http://127.0.0.1:1/\n  local:\n    command: x\n";
    fs::write(scene.agent.home().join("config.yaml"), config).unwrap();
    let of = |name: &str| scene.agent.run(["mcp", "login", name]);
    let plain = of("plain");
    assert_eq!(plain.code, 3);
    assert!(plain.stderr.contains("set `auth: oauth` under `plain:`"), "{}", plain.stderr);
    let local = of("local");
    assert_eq!(local.code, 3);
    assert!(local.stderr.contains("only servers with a `url` sign in"), "{}", local.stderr);
    assert_eq!(of("nobody").code, 3);
}

#[test]
fn each_login_error_has_its_exit_code_and_hint() {
    let refused = Endpoint::failing(Fault::refuse(403, "access_denied"));
    let scene = LoginFixture::with(Script { registration: refused, ..Script::default() });
    let run = scene.agent.run(["mcp", "login", "docs"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("accepts only clients it knows"), "{}", run.stderr);
    let down = Endpoint::failing(Fault::status(503));
    scene.server.change(|script| script.registration = down);
    let run = scene.agent.run(["mcp", "login", "docs"]);
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(scene.tokens().is_none());
}

#[test]
fn tokens_that_the_server_rejects_are_reported() {
    let scene = LoginFixture::new();
    scene.sign_in();
    scene.server.change(|script| script.mcp = Endpoint::failing(Fault::status(500)));
    let run = Person::start(&mut scene.with_screen(&["mcp", "login", "docs"])).finish();
    assert_eq!(run.code, 5, "{}", run.transcript());
    assert!(run.stdout.starts_with("Signed in to docs\n"), "{}", run.transcript());
    assert!(run.stderr.contains("the server cannot be used"), "{}", run.stderr);
}

/// A shell script whose `$0` is the program, on a machine with a screen.
fn shell(scene: &LoginFixture, script: &str) -> Command {
    let command = scene.with_screen(&[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(command.get_program()).current_dir(scene.agent.work());
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    shell
}

/// Where a browser would be sent, without going there.
fn without_arriving(address: &str) -> String {
    use std::io::Write;
    let rest = address.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    // The server keeps the connection: only the head is read.
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let line = head.iter().find(|line| line.to_lowercase().starts_with("location: "));
    line.unwrap()["location: ".len()..].to_owned()
}
