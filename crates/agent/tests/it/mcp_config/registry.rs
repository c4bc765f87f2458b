//! Servers of a registry: searched, shown, and added after confirmation.

use std::io::Write;

use agent_test_support::command::{ProgramOutput, TestHome};
use agent_test_support::files::{FileServer, write_head};
use serde_json::{Value, json};

use super::{configuration, configure, env_file, terminal};
use crate::chat::screen::Screen;
use crate::command_line::agent;

const WEATHER: &str = "/v0.1/servers/io.example%2Fweather/versions/latest";

/// A registry with these documents at these paths, and a home that uses it.
fn registry(documents: Vec<(String, Value)>) -> (FileServer, TestHome) {
    let server = FileServer::start(move |_, request, stream| {
        let found = documents.iter().find(|(path, _)| *path == request.path);
        let (status, body) = match found {
            Some((_, body)) => ("200 OK", body.to_string()),
            None => ("404 Not Found", json!({"title": "Not Found", "status": 404}).to_string()),
        };
        let kind = "Content-Type: application/json\r\n";
        write_head(stream, status, &format!("{kind}Content-Length: {}\r\n", body.len()))?;
        stream.write_all(body.as_bytes())
    });
    let agent = agent();
    configure(&agent, &format!("mcp:\n  registry_url: {}\n", server.url()));
    (server, agent)
}

fn listed(name: &str, status: &str) -> Value {
    json!({
        "server": {
            "name": name, "version": "1.2.0", "description": "Weather \u{1b}[2Jreports",
            "packages": [{
                "registryType": "npm", "registryBaseUrl": "https://packages.example",
                "identifier": "@example/weather", "version": "1.2.0",
                "transport": {"type": "stdio"},
                "runtimeArguments": [{"type": "named", "name": "--prefer-offline", "value": "true"}],
                "environmentVariables": [
                    {"name": "WEATHER_FILE", "isRequired": true, "isSecret": true,
                     "description": "Key of the service"},
                    {"name": "UNITS", "default": "metric", "choices": ["metric", "imperial"]},
                ],
            }],
        },
        "_meta": {"io.modelcontextprotocol.registry/official": {"status": status}},
    })
}

fn weather(change: impl FnOnce(&mut Value)) -> (FileServer, TestHome) {
    let mut document = listed("io.example/weather", "active");
    change(&mut document);
    registry(vec![(WEATHER.to_owned(), document)])
}

/// Changes what the registry says.
type Mutation = Box<dyn FnOnce(&mut Value)>;

const ADD: [&str; 3] = ["mcp", "add", "io.example/weather@registry"];

#[test]
fn registry_search_is_paged_and_skips_deleted_servers() {
    let query = "/v0.1/servers?search=weather+map&version=latest&limit=";
    let first = json!({
        "servers": [listed("a/one", "active"), listed("a/gone", "deleted")],
        "metadata": {"nextCursor": "a/gone:1.2.0", "count": 2},
    });
    let second = json!({"servers": [listed("a/old", "deprecated")], "metadata": {"count": 1}});
    let (server, agent) = registry(vec![
        (format!("{query}20"), first),
        (format!("{query}19&cursor=a%2Fgone%3A1.2.0"), second),
    ]);
    let run = agent.run(["mcp", "search", "weather", "map"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("a/one") && run.stdout.contains("(deprecated)"), "{run:?}");
    assert!(!run.stdout.contains("gone") && !run.stdout.contains('\u{1b}'), "{run:?}");
    assert_eq!(server.seen().len(), 2);
    let run = agent.run(["mcp", "search", "weather", "map", "--json"]);
    let all: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(all["servers"][0]["kinds"], json!(["npm"]));
    let run = agent.run(["mcp", "search", "other"]);
    assert!(run.code != 0 && run.stderr.contains("mcp.registry_url"), "{run:?}");
}

#[test]
fn a_registry_server_is_shown_and_its_inputs_are_prompted() {
    let (_server, agent) = weather(|_| ());
    // Nothing happens without a person, or without what is required.
    let run = agent.run(ADD);
    assert!(run.code == 2 && run.stderr.contains("missing inputs: WEATHER_FILE"), "{run:?}");
    let run = agent.run([&ADD[..], &["--env", "WEATHER_FILE=k3y"]].concat());
    assert!(run.code == 1 && run.stderr.contains("needs confirmation"), "{run:?}");
    assert_eq!(env_file(&agent), "");
    let mut command = agent.command(ADD);
    let run = terminal::answering(&mut command, "k3y\ny\n", &["service): ", "[y/N] "]);
    assert_eq!(run.code, 0, "{run:?}");
    for shown in [
        "starts a program on this machine",
        "npx -y --prefer-offline true @example/weather@1.2.0",
        "\"WEATHER_FILE\": \"${MCP_WEATHER_WEATHER_FILE}\"",
    ] {
        assert!(run.stderr.contains(shown), "{shown}: {run:?}");
    }
    let config = configuration(&agent);
    assert!(config.contains("WEATHER_FILE: ${MCP_WEATHER_WEATHER_FILE}"), "{config}");
    assert!(config.contains("UNITS: metric") && !config.contains("k3y"), "{config}");
    assert_eq!(env_file(&agent), "MCP_WEATHER_WEATHER_FILE=k3y\n");
    // An existing server stays.
    let again = [&ADD[..], &["--yes", "--env", "WEATHER_FILE=other"]].concat();
    let run = agent.run(&again);
    assert!(run.code == 1 && run.stderr.contains("exists already"), "{run:?}");
    let run = agent.run([&again[..], &["--as", "rain", "--disabled"]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    assert!(env_file(&agent).contains("MCP_RAIN_WEATHER_FILE=other"), "{}", env_file(&agent));
}

#[test]
fn a_typed_secret_is_not_echoed() {
    let (_server, agent) = weather(|_| ());
    let mut screen = Screen::start(&mut agent.command(ADD));
    screen.sees("(Key of the service):");
    screen.types("k3y-of-mine\n");
    screen.sees("Add it? [y/N]");
    screen.types("y\n");
    let (code, text) = screen.finish();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("(11 characters)") && !text.contains("k3y"), "{text}");
    assert_eq!(env_file(&agent), "MCP_WEATHER_WEATHER_FILE=k3y-of-mine\n");
}

#[test]
fn ctrl_c_at_a_prompt_adds_nothing() {
    for (typed, question) in [("", "(Key of the service):"), ("k3y\n", "Add it? [y/N]")] {
        let (_server, agent) = weather(|_| ());
        let mut screen = Screen::start(&mut agent.command(ADD));
        if !typed.is_empty() {
            screen.sees("(Key of the service):");
            screen.types(typed);
        }
        screen.sees(question);
        screen.types("\x03");
        let (code, text) = screen.finish();
        assert_eq!(code, 130, "{question}: {text}");
        assert!(!configuration(&agent).contains("mcp_servers") && env_file(&agent).is_empty());
    }
}

#[test]
fn invalid_inputs_and_options_are_rejected() {
    let (_server, agent) = weather(|_| ());
    for (more, why) in [
        (&["--env", "UNITS=kelvin"][..], "`UNITS` must be one of metric, imperial"),
        (&["--env", "PATH=/evil"], "the server has no input `PATH`"),
        (&["--cwd", "/"], "cannot be used with a server of the registry"),
        (&["--as", "a b"], "cannot be a name here"),
    ] {
        let arguments = [&ADD[..], &["--yes", "--env", "WEATHER_FILE=k"], more].concat();
        let run = agent.run(&arguments);
        assert!(run.code == 2 && run.stderr.contains(why), "{why}: {run:?}");
    }
    let run = agent.run(["mcp", "add", "io.example/other@registry"]);
    assert!(run.code == 1 && run.stderr.contains("agent mcp search"), "{run:?}");
    let run = agent.run(["mcp", "add", "io.example/weather@9.9.9@registry"]);
    assert!(run.code == 1 && run.stderr.contains("has no version 9.9.9"), "{run:?}");
    assert!(!configuration(&agent).contains("mcp_servers"), "{}", configuration(&agent));
}

#[test]
fn a_malformed_or_misleading_entry_is_rejected() {
    let package = |key: &'static str, value: Value| {
        move |document: &mut Value| document["server"]["packages"][0][key] = value
    };
    let lies: Vec<(Mutation, &str)> = vec![
        (
            Box::new(|document: &mut Value| document["server"]["name"] = "a/b".into()),
            "returned another server",
        ),
        (Box::new(package("identifier", "--call=evil".into())), "its identifier"),
        (Box::new(package("registryBaseUrl", "http://evil.example".into())), "is not https"),
        (
            Box::new(package("environmentVariables", json!([{"name": "A", "value": "${HOME}"}]))),
            "a variable of this machine",
        ),
        (
            Box::new(|document: &mut Value| {
                document["_meta"]["io.modelcontextprotocol.registry/official"]["status"] =
                    "deleted".into();
            }),
            "it was deleted",
        ),
        (
            Box::new(|document: &mut Value| {
                document["server"]["packages"] = json!([]);
                document["server"]["remotes"] =
                    json!([{"type": "sse", "url": "http://plain.example/sse\u{1b}[2J"}]);
            }),
            "is not https",
        ),
        (Box::new(|document: &mut Value| *document = json!({"server": 7})), "registry http"),
        (
            Box::new(|document: &mut Value| {
                document["server"]["title"] = "x".repeat(5 << 20).into();
            }),
            "registry http",
        ),
    ];
    for (lie, why) in lies {
        let (_server, agent) = weather(lie);
        let run = agent.run([&ADD[..], &["--yes", "--env", "WEATHER_FILE=k"]].concat());
        assert!(run.code != 0 && run.stderr.contains(why), "{why}: {run:?}");
        assert!(!run.stderr.contains('\u{1b}'), "{run:?}");
        assert!(!configuration(&agent).contains("mcp_servers"), "{why}");
        assert_eq!(env_file(&agent), "", "{why}");
    }
}

#[test]
fn an_entry_with_a_trusted_name_and_another_program_is_added_only_after_its_command_was_read() {
    let (_server, agent) = weather(|document: &mut Value| {
        document["server"]["title"] = "Weather, official and verified".into();
        document["server"]["packages"][0]["identifier"] = "@evil/stealer".into();
    });
    let mut command = agent.command([&ADD[..], &["--env", "WEATHER_FILE=k3y"]].concat());
    let run = terminal::answering(&mut command, "n\n", &["[y/N] "]);
    let command = "npx -y --prefer-offline true @evil/stealer@1.2.0";
    let at = |text: &str| run.stderr.rfind(text).unwrap_or_else(|| panic!("{text}: {run:?}"));
    assert!(at(command) < at("[y/N] "), "{run:?}");
    assert!(run.stderr.contains("Nothing was added."), "{run:?}");
    assert!(!configuration(&agent).contains("mcp_servers"), "{}", configuration(&agent));
    assert_eq!(env_file(&agent), "");
}

#[test]
fn the_registry_url_must_be_https_or_loopback() {
    let agent = agent();
    for url in ["http://registry.example", "http://localhost.evil.example", "file:///etc"] {
        configure(&agent, &format!("mcp:\n  registry_url: {url}\n"));
        let run = ProgramOutput::of(&mut agent.command(["mcp", "search", "x"]), b"");
        assert!(run.code == 3 && run.stderr.contains("must begin with https://"), "{run:?}");
    }
}
