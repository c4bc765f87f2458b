//! Owns one stdio server until it is killed: `owner COMMAND ARGS…`; the guardian of its servers is
//! itself, as `owner --guard OWNER`.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_client::Client;
use mcp_client::config::{Endpoint, ServerEntry, StdioEndpoint, Text};
use mcp_client::host::Host;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [flag, owner] if flag == "--guard" => {
            mcp_client::guardian::run(std::io::stdin().lock(), owner);
        }
        [command, rest @ ..] => own(command, rest),
        [] => {}
    }
}

fn own(command: &str, rest: &[String]) {
    let Ok(runtime) = tokio::runtime::Runtime::new() else { return };
    let environment: BTreeMap<String, String> = std::env::vars().collect();
    let mut endpoint = StdioEndpoint::new(command);
    endpoint.args = rest.iter().map(Text::literal).collect();
    endpoint.env = environment
        .iter()
        .filter(|(name, _)| name.starts_with("HOSTILE_"))
        .map(|(name, value)| (name.clone(), Text::literal(value)))
        .collect();
    let program = std::env::current_exe().map(|path| path.display().to_string());
    let guardian = program.ok().map(|program| vec![program, "--guard".to_owned()]);
    let host = Host { guardian, ..Host::bare(environment) };
    runtime.block_on(async {
        let _client = Client::start([ServerEntry::new("owned", Endpoint::Stdio(endpoint))], host);
        tokio::time::sleep(Duration::from_mins(10)).await;
    });
}
