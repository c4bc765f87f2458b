//! Content that a link may not have, because it accesses files of the person, and cautions for
//! the person.

use mcp_client::config::{Auth, Endpoint, HttpEndpoint, StdioEndpoint, Verify};
use serde_json::{Map, Value as Json};

use crate::diagnostic::{Diagnostic, Result};
use crate::host::{host, is_this_machine};
use crate::mcp::project::file_keys;

/// Variables that change the started programs, loaded code or trusted certificates.
const STEERING: [&str; 20] = [
    "PATH", "HOME", "NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE",
    "NODE_TLS_REJECT_UNAUTHORIZED", "BASH_ENV", "ENV", "SHELL", "IFS", "PS4", "PROMPT_COMMAND",
    "EDITOR", "PAGER", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "GOFLAGS",
    "CLASSPATH", "OPENSSL_CONF",
];
/// Prefixes of more such variables.
const STEERING_STARTS: [&str; 14] = [
    "DYLD_", "LD_", "GIT_", "PIP_", "UV_", "NPM_CONFIG_", "COREPACK_", "YARN_", "BUN_CONFIG_",
    "DENO_", "PYTHON", "PERL5", "RUBY", "SSL_CERT_",
];
/// Substrings of more such variables.
const STEERING_PARTS: [&str; 4] = ["PROXY", "REGISTRY", "CA_BUNDLE", "CA_CERT"];
/// Harmless variables with such a prefix.
const PLAIN: [&str; 8] = [
    "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_NAME",
    "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONUTF8",
];

/// Programs that run their arguments or input as code.
const SHELLS: [&str; 13] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh", "ash", "busybox", "cmd",
    "powershell", "pwsh",
];

/// Interpreters, and the letters, long options and subcommands that pass code as text.
const INTERPRETERS: [(&[&str], &str, &[&str]); 9] = [
    (&["python", "pythonw", "pypy", "py"], "c", &[]),
    (&["node", "nodejs", "bun"], "ep", &["--eval", "--print"]),
    (&["deno"], "", &["eval"]),
    (&["perl"], "eE", &[]),
    (&["ruby", "jruby", "lua", "luajit", "osascript", "elixir", "groovy"], "e", &["--eval"]),
    (&["php"], "rBRE", &["--run"]),
    (&["julia", "rscript", "r", "ghc", "scala"], "eE", &["--eval", "--print"]),
    (&["awk", "gawk", "mawk", "nawk"], "", &[]),
    (&["tclsh", "expect"], "c", &[]),
];

/// Programs that download and run a package, with the subcommand for it, if one is needed.
const FETCHERS: [(&str, &[&str]); 11] = [
    ("npx", &[]),
    ("pnpx", &[]),
    ("bunx", &[]),
    ("uvx", &[]),
    ("npm", &["exec", "x"]),
    ("pnpm", &["dlx"]),
    ("yarn", &["dlx"]),
    ("bun", &["x"]),
    ("uv", &["run", "tool"]),
    ("pipx", &["run"]),
    ("deno", &["run"]),
];

/// Fails if the entry names files of this machine: their content would be sent to a host
/// chosen by the link, or decide which certificates to trust.
pub(super) fn refuse_files(entry: &Map<String, Json>) -> Result {
    let keys = file_keys(entry);
    if keys.is_empty() {
        return Ok(());
    }
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    let keys = keys.join(", ");
    let message = format!("the install link was rejected: {keys} refers to a file on this machine");
    Err(Diagnostic::configuration(message)
        .cause("a link must not choose which of your files are read or where they are sent")
        .hint(
            "if you trust the server, add it by hand: write its entry under `mcp_servers:` in \
             config.yaml",
        ))
}

/// Cautions to show before the confirmation, one per line.
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
        cautions.push(format!(
            "it sets variables that change which programs run or what they trust: {names}"
        ));
    }
    // With programs such as `env` an interpreter is among the arguments, or within one of them.
    let words = std::iter::once(&stdio.command).chain(&stdio.args);
    let words: Vec<&str> = words.flat_map(|word| word.value().split_whitespace()).collect();
    let programs: Vec<String> = words.iter().map(|word| program_name(word)).collect();
    if programs.iter().any(|name| SHELLS.contains(&name.as_str())) {
        cautions.push("it runs a shell, which executes whatever its arguments contain".to_owned());
    }
    let found = (0..words.len()).find(|&at| takes_code(&programs[at], &words[at + 1..]));
    if let Some(at) = found {
        cautions.push(format!("it may execute code in its arguments: {} …", programs[at]));
    }
    let found = (0..words.len()).find(|&at| fetches(&programs[at], &words[at + 1..]));
    if let Some(at) = found {
        cautions.push(format!("`{}` downloads a package and runs it", programs[at]));
    }
    cautions
}

fn steers(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if PLAIN.contains(&&*name) {
        return false;
    }
    STEERING.contains(&&*name)
        || STEERING_STARTS.iter().any(|start| name.starts_with(start))
        || STEERING_PARTS.iter().any(|part| name.contains(part))
}

/// The name of a program without its folder, extension and version; empty for an npm scope,
/// where a package may have the name of a program.
fn program_name(word: &str) -> String {
    if word.starts_with('@') {
        return String::new();
    }
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    name.trim_end_matches(|letter: char| letter.is_ascii_digit() || ".-".contains(letter))
        .to_owned()
}

/// Whether one of these arguments passes code to the interpreter. Arguments of a script may
/// look the same: that is one caution too many.
fn takes_code(program: &str, arguments: &[&str]) -> bool {
    let known = INTERPRETERS.iter().find(|(names, _, _)| names.contains(&program));
    let Some((_, letters, words)) = known else { return false };
    if letters.is_empty() && words.is_empty() {
        return !arguments.is_empty();
    }
    arguments.iter().any(|argument| {
        let long = argument.split('=').next().unwrap_or(argument);
        // Short options can be combined, with a value after them.
        let is_short = argument.starts_with('-') && !argument.starts_with("--");
        words.contains(&long) || is_short && argument.contains(|letter| letters.contains(letter))
    })
}

fn fetches(program: &str, arguments: &[&str]) -> bool {
    let mut known = FETCHERS.iter().filter(|(name, _)| *name == program);
    known.any(|(_, commands)| {
        commands.is_empty() || arguments.iter().any(|argument| commands.contains(argument))
    })
}

fn remote(http: &HttpEndpoint) -> Vec<String> {
    let mut cautions = Vec::new();
    let url = http.url.value();
    if http.verify == Verify::Off {
        cautions.push(
            "`ssl_verify: false`: anyone on the network path can read and change the traffic"
                .to_owned(),
        );
    }
    let is_plain = url.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("http://"));
    if is_plain && !is_this_machine(url) {
        cautions.push("its connection is not encrypted (http)".to_owned());
    }
    if let Auth::OAuth(options) = &http.auth
        && let Some(exchange) = &options.idp_token_endpoint
    {
        let place = host(exchange.shown());
        cautions.push(format!("your credentials are sent to {place}"));
    }
    cautions
}

#[cfg(test)]
mod tests;
