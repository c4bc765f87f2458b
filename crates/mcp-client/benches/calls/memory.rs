//! What one more connected server costs while nobody calls it.
//!
//! Each client is measured in a separate process, so that none reuses freed memory of another.

use std::process::Command;
use std::time::Duration;

use agent_test_support::mcp::rmcp_stdio;
use mcp_client::Client;
use mcp_client::supervisor::ServerState;

use crate::contender::{self, Era, Place, entry, host};

/// The argument with which this program weighs one client.
pub(crate) const FLAG: &str = "--weigh";
const FEW: usize = 1;
const MANY: usize = 33;
/// How long the clients rest before they are weighed.
const REST: Duration = Duration::from_millis(300);

/// Weighs both clients and prints what came of it.
pub(crate) fn rows() {
    let [ours, theirs] = ["ours", "rmcp"].map(weighed);
    println!(
        "| memory of one more idle stdio server | {ours} KiB | rmcp {theirs} KiB | {:.2} | \
         256 KiB | 64 KiB |",
        f64::from(theirs) / f64::from(ours.max(1)),
    );
}

fn weighed(client: &str) -> u32 {
    let program = std::env::current_exe().expect("a program knows where it is");
    let output = Command::new(program).args([FLAG, client]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().expect("a number")
}

/// Prints how many KiB one more server takes.
pub(crate) fn weigh(client: &str) {
    let grown =
        crate::run(async { if client == "rmcp" { of_rmcp().await } else { of_ours().await } });
    println!("{}", grown / (MANY - FEW));
}

async fn of_ours() -> usize {
    let place = Place::Stdio(rmcp_stdio());
    let some = |count: usize| {
        (0..count).map(|at| entry(&format!("s{at}"), &place, Era::Legacy)).collect::<Vec<_>>()
    };
    let client = Client::start(some(FEW), host());
    ready(&client).await;
    let few = resident().await;
    client.reload(some(MANY));
    ready(&client).await;
    let many = resident().await;
    client.close().await;
    many.saturating_sub(few)
}

async fn ready(client: &Client) {
    client.wait_until_settled(Duration::from_mins(1)).await;
    assert!(client.status().iter().all(|status| status.state == ServerState::Ready));
}

async fn of_rmcp() -> usize {
    let place = Place::Stdio(rmcp_stdio());
    let mut running = Vec::new();
    let mut few = 0;
    for at in 0..MANY {
        if at == FEW {
            few = resident().await;
        }
        let client = contender::rmcp(&place, Era::Legacy).await;
        // Our side knows the tools of its servers; so does this one.
        let tools = client.list_all_tools().await.expect("a list");
        running.push((client, tools));
    }
    let many = resident().await;
    for (client, _) in running {
        let _ = client.cancel().await;
    }
    many.saturating_sub(few)
}

/// The memory that is ours alone, in KiB.
async fn resident() -> usize {
    tokio::time::sleep(REST).await;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).expect("the kernel says how much is used")
}
