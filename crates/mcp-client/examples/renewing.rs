//! Calls a tool of a server that wants a sign-in, as one of several processes that share its tokens:
//! `renewing URL FOLDER`.
//!
//! Each line of its input is a number of calls, made one after another; each is answered by a line
//! with how many worked, then what went wrong, if anything did. It ends with its input.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;

use mcp_client::Client;
use mcp_client::config::{Auth, Endpoint, HttpEndpoint, ServerEntry};
use mcp_client::host::Host;
use mcp_client::session::CallOptions;
use serde_json::json;

/// How long the server may take to be ready.
const PATIENCE: Duration = Duration::from_secs(30);

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, folder] = &arguments[..] else { return Ok(()) };
    // Background work continues while the process waits for the next line: a process that
    // blocks in the middle of a renewal would keep the others from theirs.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut endpoint = HttpEndpoint::new(url);
    endpoint.auth = Auth::OAuth(Box::default());
    let entry = ServerEntry::new("shared", Endpoint::Http(Box::new(endpoint)));
    let environment: BTreeMap<String, String> = std::env::vars().collect();
    let token_dir = Some(PathBuf::from(folder));
    let client = runtime.block_on(async {
        let client = Client::start([entry], Host { token_dir, ..Host::bare(environment) });
        client.wait_until_settled(PATIENCE).await;
        client
    });
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", client.status()[0].state)?;
    output.flush()?;
    for line in std::io::stdin().lock().lines() {
        let calls = line?.trim().parse().unwrap_or(0);
        writeln!(output, "{}", runtime.block_on(make(&client, calls)))?;
        output.flush()?;
    }
    Ok(())
}

async fn make(client: &Client, calls: u32) -> String {
    let (mut worked, mut wrong) = (0, None);
    for _ in 0..calls {
        let called =
            client.call("mcp__shared__echo", json!({ "text": "x" }), CallOptions::default());
        match called.await {
            Ok(outcome) if !outcome.is_error => worked += 1,
            Ok(outcome) => wrong = Some(format!("{outcome:?}")),
            Err(error) => wrong = Some(error.to_string()),
        }
    }
    format!("{worked} {}", wrong.unwrap_or_default())
}
