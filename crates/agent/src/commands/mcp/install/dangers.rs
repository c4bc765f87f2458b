//! What a link may not hold, because it reaches for files of the person, and what a person should
//! be warned of.

use std::net::IpAddr;

use mcp_client::config::{Auth, Endpoint, HttpEndpoint, StdioEndpoint, Text, Verify};
use serde_json::{Map, Value as Json};

use super::dialog::host;
use crate::diagnostic::Diagnostic;

/// Keys that name files of this machine, under `oauth`.
pub(crate) const SIGN_IN_FILES: [&str; 2] = ["assertion_file", "private_key"];
/// Keys that name files of this machine.
const FILES: [&str; 2] = ["client_cert", "client_key"];
/// Words of `ssl_verify` that are no path.
const SWITCHES: [&str; 6] = ["true", "false", "yes", "no", "on", "off"];

/// Variables that change how programs run.
const STEERING: [&str; 22] = [
    "PATH",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "BASH_ENV",
    "ENV",
    "SHELL",
    "IFS",
    "PERL5OPT",
    "PERL5LIB",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "GIT_SSH_COMMAND",
    "NPM_CONFIG_REGISTRY",
    "UV_INDEX_URL",
];
/// What the names of more such variables begin with.
const STEERING_STARTS: [&str; 2] = ["DYLD_", "LD_"];

/// Programs that run whatever text they are given.
const SHELLS: [&str; 13] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "fish",
    "csh",
    "tcsh",
    "ash",
    "busybox",
    "cmd",
    "powershell",
    "pwsh",
];

/// An error if the entry names files of this machine: what is in them would go to a host that the
/// link chose, or decide whom to believe.
pub(super) fn refuse_files(entry: &Map<String, Json>) -> Result<(), Diagnostic> {
    let oauth = entry.get("oauth").and_then(Json::as_object);
    let signs = SIGN_IN_FILES.iter().filter(|key| oauth.is_some_and(|all| is_given(all, key)));
    let mut keys: Vec<String> = signs.map(|key| format!("oauth.{key}")).collect();
    keys.extend(FILES.iter().filter(|key| is_given(entry, key)).map(|&key| key.to_owned()));
    let verify = entry.get("ssl_verify").and_then(Json::as_str).map(str::trim);
    if verify.is_some_and(|text| !SWITCHES.contains(&text.to_ascii_lowercase().as_str())) {
        keys.push("ssl_verify".to_owned());
    }
    if keys.is_empty() {
        return Ok(());
    }
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    let message = format!("the install link is refused: {} names a file of this machine", {
        keys.join(", ")
    });
    let mut diagnostic = Diagnostic::configuration(message);
    let why = "a link must not choose which of your files are read, or whom they are shown to";
    diagnostic.causes.push(why.to_owned());
    Err(diagnostic.hint(
        "if you trust the server, add such a server by hand: write its entry under `mcp_servers:` \
         in config.yaml",
    ))
}

fn is_given(entry: &Map<String, Json>, key: &str) -> bool {
    entry.get(key).is_some_and(|value| !value.is_null())
}

/// What a person should think about before saying yes, each in a line.
pub(super) fn cautions(endpoint: &Endpoint) -> Vec<String> {
    match endpoint {
        Endpoint::Stdio(stdio) => local(stdio),
        Endpoint::Http(http) => remote(http),
    }
}

fn local(stdio: &StdioEndpoint) -> Vec<String> {
    let mut cautions = Vec::new();
    let steering: Vec<&str> =
        stdio.env.iter().map(|(name, _)| &**name).filter(|name| steers(name)).collect();
    if !steering.is_empty() {
        let names = steering.join(", ");
        cautions.push(format!("it sets what changes how programs run: {names}"));
    }
    // Behind programs such as `env` a shell stands among the arguments.
    let words = std::iter::once(&stdio.command).chain(&stdio.args);
    if words.map(Text::value).any(is_shell) {
        cautions.push("it runs a shell, which does whatever its text says".to_owned());
    }
    cautions
}

fn steers(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    STEERING.contains(&&*name) || STEERING_STARTS.iter().any(|start| name.starts_with(start))
}

fn is_shell(program: &str) -> bool {
    let name = program.trim().rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    // A package may be called like one.
    if program.starts_with('@') {
        return false;
    }
    SHELLS.contains(&name.strip_suffix(".exe").unwrap_or(&name))
}

fn remote(http: &HttpEndpoint) -> Vec<String> {
    let mut cautions = Vec::new();
    let url = http.url.value();
    if http.verify == Verify::Off {
        cautions.push(
            "`ssl_verify: false`: anyone on the way can read and change what is sent".to_owned(),
        );
    }
    let is_plain = url.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("http://"));
    if is_plain && !is_this_machine(host(url)) {
        cautions.push("it is reached without encryption (http)".to_owned());
    }
    if let Auth::OAuth(options) = &http.auth
        && let Some(exchange) = &options.idp_token_endpoint
    {
        let place = host(exchange.shown());
        cautions.push(format!("what vouches for you is sent to {place}"));
    }
    cautions
}

/// Whether a host, with or without a port, is this machine.
fn is_this_machine(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use mcp_client::config::{Scope, parse_entry};
    use serde_json::json;

    use super::*;

    fn of(entry: &Json) -> Vec<String> {
        let (configured, _) = parse_entry("x", entry, &Scope::default()).unwrap();
        cautions(&configured.entry.endpoint)
    }

    #[test]
    fn no_link_names_a_file() {
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
            assert!(told.contains(&format!(": {key} names a file")), "{told}");
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
    fn what_is_dangerous_is_told() {
        let env = json!({"ld_preload": "x", "DYLD_INSERT_LIBRARIES": "x", "MODE": "fast"});
        let told = of(&json!({"command": "/bin/BASH.exe", "args": ["x.sh"], "env": env}));
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("DYLD_INSERT_LIBRARIES, ld_preload"), "{told:?}");
        assert!(told[1].contains("a shell"), "{told:?}");
        assert!(of(&json!({"command": "env", "args": ["sh", "x"]}))[0].contains("a shell"));
        assert!(of(&json!({"command": "npx", "args": ["@scope/sh", "bash-x"]})).is_empty());
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
        assert_eq!(told, ["what vouches for you is sent to evil.example"]);
    }
}
