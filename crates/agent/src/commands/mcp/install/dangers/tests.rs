//! Tests of `dangers`.

use mcp_client::config::{Scope, parse_entry};
use serde_json::json;

use super::*;

fn of(entry: &Json) -> Vec<String> {
    let (configured, _) = parse_entry("x", entry, &Scope::default()).unwrap();
    cautions(&configured.entry.endpoint)
}

#[test]
fn links_that_reference_files_are_rejected() {
    let refused = |entry: Json| {
        let told = refuse_files(entry.as_object().unwrap());
        told.map_err(|told| told.message.unwrap_or_default()).err()
    };
    for (key, entry) in [
        ("`oauth.assertion_file`", json!({"oauth": {"assertion_file": "~/.ssh/id_rsa"}})),
        ("`oauth.private_key`", json!({"oauth": {"private_key": "/k.pem"}})),
        ("`client_cert`", json!({"client_cert": ["/c.pem", "/k.pem"]})),
        ("`client_cert`, `client_key`", json!({"client_cert": "c", "client_key": "${K}"})),
        ("`ssl_verify`", json!({"ssl_verify": "ca.pem"})),
        ("`ssl_verify`", json!({"ssl_verify": "${CA}"})),
    ] {
        let told = refused(entry).unwrap();
        assert!(told.contains(&format!(": {key} refers to a file")), "{told}");
    }
    for entry in [
        json!({"ssl_verify": false}),
        json!({"ssl_verify": "False"}),
        json!({"oauth": {"client_id": "x", "private_key": null}}),
        json!({}),
    ] {
        assert_eq!(refused(entry), None);
    }
}

#[test]
fn dangerous_entries_get_warnings() {
    let env = json!({"ld_preload": "x", "DYLD_INSERT_LIBRARIES": "x", "MODE": "fast"});
    let told = of(&json!({"command": "/bin/BASH.exe", "args": ["x.sh"], "env": env}));
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("DYLD_INSERT_LIBRARIES, ld_preload"), "{told:?}");
    assert!(told[1].contains("a shell"), "{told:?}");
    assert!(of(&json!({"command": "env", "args": ["sh", "x"]}))[0].contains("a shell"));
    let told = of(&json!({"url": "HTTP://far.example/mcp", "ssl_verify": false}));
    assert_eq!(told.len(), 2, "{told:?}");
    for near in ["http://localhost:1/x", "http://127.9.9.9", "http://[::1]:80/", "https://x"] {
        assert!(of(&json!({"url": near})).is_empty(), "{near}");
    }
    for far in ["http://localhost.evil.example", "http://127.0.0.1.evil.example/"] {
        assert_eq!(of(&json!({"url": far})).len(), 1, "{far}");
    }
    let oauth = json!({"flow": "enterprise", "client_id": "c", "assertion": "a",
                       "idp_token_endpoint": "https://bank.example@evil.example/x"});
    let told = of(&json!({"url": "https://x", "auth": "oauth", "oauth": oauth}));
    assert_eq!(told, ["your credentials are sent to evil.example"]);
}

#[test]
fn variables_that_change_programs_or_trust_get_warnings() {
    for name in ["NODE_ENV", "API_KEY", "PYTHONUNBUFFERED", "GIT_AUTHOR_NAME", "LOG_LEVEL"] {
        assert!(of(&json!({"command": "x", "env": {name: "1"}})).is_empty(), "{name}");
    }
    for name in [
        "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL",
        "npm_config_registry", "HTTPS_PROXY", "http_proxy", "ALL_PROXY", "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_COUNT", "GIT_SSH_COMMAND", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_OPTIONS",
        "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
        "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "PYTHONSTARTUP",
        "PATH", "BASH_ENV", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS", "GOPROXY",
    ] {
        let told = of(&json!({"command": "x", "env": {name: "1"}}));
        assert!(told.len() == 1 && told[0].ends_with(name), "{name}: {told:?}");
    }
}

#[test]
fn inline_code_and_downloading_programs_get_warnings() {
    let told = of(&json!({"command": "npx", "args": ["@scope/sh", "bash-x"]}));
    assert_eq!(told, ["`npx` downloads a package and runs it"]);
    for (command, args) in [
        ("python3", &["-c", "x"][..]),
        ("/usr/bin/python3.12", &["-W", "ignore", "-Ic", "x"]),
        ("node", &["-e", "x"]),
        ("node", &["--eval=x"]),
        ("nodejs", &["-p", "x"]),
        ("bun", &["-e", "x"]),
        ("deno", &["eval", "x"]),
        ("perl", &["-we", "x"]),
        ("ruby", &["-e", "x"]),
        ("php8.2", &["-r", "x"]),
        ("osascript", &["-e", "x"]),
        ("awk", &["BEGIN{}"]),
        ("env", &["A=b", "python3", "-c", "x"]),
        ("env", &["-S", "python3 -c x"]),
    ] {
        let told = of(&json!({"command": command, "args": args}));
        assert!(told[0].starts_with("it may execute code"), "{command} {args:?}: {told:?}");
    }
    for (command, args) in
        [("pwsh", &["-Command", "x"][..]), ("bash", &["-c", "x"]), ("cmd.exe", &["/c", "x"])]
    {
        let told = of(&json!({"command": command, "args": args}));
        assert!(told[0].contains("a shell"), "{command}: {told:?}");
    }
    for (command, args) in [
        ("python3", &["server.py"][..]),
        ("python3", &["-m", "server", "--config", "x"]),
        ("node", &["build/index.js", "--port", "1"]),
        ("uv", &["--version"]),
    ] {
        let told = of(&json!({"command": command, "args": args}));
        assert!(told.is_empty(), "{command} {args:?}: {told:?}");
    }
    for (command, args) in [("uvx", &["x"][..]), ("pipx", &["run", "x"]), ("pnpm", &["dlx", "x"])] {
        let told = of(&json!({"command": command, "args": args}));
        assert!(told[0].contains("downloads a package"), "{command}: {told:?}");
    }
}

#[test]
fn shown_host_is_the_host_of_the_connection() {
    for (address, expected) in [
        ("https://example.com/mcp", "example.com"),
        ("https://bank.example@evil.example:8443/x@y", "evil.example:8443"),
        ("http://[::1]:80?x", "[::1]:80"),
        ("https://${HOST}/x", "${HOST}"),
    ] {
        assert_eq!(host(address), expected);
    }
}
