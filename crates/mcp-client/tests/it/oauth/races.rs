//! Many who renew one rotating token: in one process, in several, and in some that are killed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use agent_test_support::disk::SmallDisk;
use agent_test_support::mcp::example;
use agent_test_support::oauth::{Endpoint, Fault, PythonOauth};
use agent_test_support::wait::eventually;
use mcp_client::content::ToolOutcome;
use mcp_client::error::ErrorKind;
use mcp_client::session::CallOptions;
use mcp_client::{Client, Error};
use serde_json::json;
use tokio::task::JoinSet;

use super::signed_in::{SignedIn, files, is_ready, needs_sign_in, until};

/// How often tokens are renewed in the long race.
const RENEWALS: usize = 1000;
/// How many requests a token is good for where it is soon used up.
const USES: u32 = 3;
/// The size of the disk with the tokens.
const DISK_BYTES: u64 = 4 * 1024 * 1024;

/// A process that shares the tokens.
struct Renewing {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Renewing {
    fn start(url: &str, folder: &Path) -> Self {
        let mut child = Command::new(example("renewing"))
            .args([url.as_ref(), folder.as_os_str()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Waits until it has connected.
    fn ready(mut self) -> Self {
        assert_eq!(self.line(), "ready");
        self
    }

    fn begin(&mut self, calls: u32) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{calls}").unwrap();
    }

    /// Waits until all calls that were begun have worked.
    fn worked(&mut self, calls: u32) {
        assert_eq!(self.line().trim_end(), calls.to_string());
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end_matches('\n').to_owned()
    }
}

impl Drop for Renewing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All make these calls at once, and all calls work.
fn all_call(all: &mut [Renewing], calls: u32) {
    for one in &mut *all {
        one.begin(calls);
    }
    for one in all {
        one.worked(calls);
    }
}

/// On a disk in memory: each renewal waits for the disk several times, and a busy machine has a
/// slow one.
async fn at_python() -> (SignedIn<PythonOauth>, SmallDisk) {
    let disk = SmallDisk::mount(DISK_BYTES);
    let mut machine = SignedIn::not_yet(PythonOauth::start(&[]));
    machine.folder = disk.path().join("mcp-tokens");
    machine.sign_in().await;
    (machine, disk)
}

/// The refresh tokens that came, in their order.
fn spent(server: &PythonOauth) -> Vec<String> {
    server.token_requests().iter().filter_map(|seen| seen.field("refresh_token")).collect()
}

async fn call(client: Client) -> Result<ToolOutcome, Error> {
    client.call("mcp__shared__echo", json!({ "text": "x" }), CallOptions::default()).await
}

/// Both are refused at once, again and again: each needs another token, or the one that the other
/// process has just brought home. Each time one of them renews, and one only.
#[tokio::test]
async fn two_processes_renew_a_rotating_token_a_thousand_times() {
    let (machine, _disk) = at_python().await;
    let (server, folder) = (&machine.server, &machine.folder);
    let start = || Renewing::start(server.mcp_url(), folder);
    let mut both = [start(), start()].map(Renewing::ready);
    let began = Instant::now();
    for _ in 0..RENEWALS {
        server.expire_access_tokens();
        all_call(&mut both, 1);
    }
    let spent = spent(server);
    eprintln!("{} renewals, {:?}", spent.len(), began.elapsed());
    assert_eq!(server.reused_refresh_tokens(), 0);
    assert_eq!(spent.len(), RENEWALS);
    let mut distinct = spent.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), spent.len(), "a refresh token came twice");
    assert!(!spent.contains(&machine.tokens()["refresh_token"].as_str().unwrap().to_owned()));
}

#[tokio::test]
async fn fifty_concurrent_unauthorized_calls_renew_once() {
    let mut machine = SignedIn::to_faulty(|_| {}).await;
    machine.entry.parallel_calls = true;
    let client = machine.client().await;
    machine.server.expire_access_tokens();
    let before = machine.asked();
    let mut calls = JoinSet::new();
    for _ in 0..50 {
        calls.spawn(call(client.clone()));
    }
    assert!(calls.join_all().await.iter().all(Result::is_ok));
    assert_eq!(machine.asked(), before + 1);
    client.close().await;
}

/// A process killed between the server's answer and the disk loses the new token pair, which cannot
/// be avoided without the server's help. All others continue, and nothing is left behind.
#[tokio::test]
async fn a_process_killed_during_renewal_does_not_block_others() {
    let (machine, _disk) = at_python().await;
    let (server, folder) = (&machine.server, &machine.folder);
    let mut steady = Renewing::start(server.mcp_url(), folder).ready();
    server.set_access_uses(Some(USES));
    server.expire_access_tokens();
    let mut lost = 0;
    for round in 0..20 {
        let mut victim = Renewing::start(server.mcp_url(), folder).ready();
        victim.begin(10_000);
        let before = spent(server).len();
        eventually("the victim renews", || spent(server).len() > before + round % 3);
        drop(victim);
        steady.begin(3);
        let line = steady.line();
        if line.trim_end() == "3" {
            continue;
        }
        lost += 1;
        assert!(line.contains("sign-in") || line.contains("invalid_grant"), "{line}");
        machine.sign_in().await;
        steady = Renewing::start(server.mcp_url(), folder).ready();
    }
    eprintln!("{lost} of 20 kills took the sign-in along");
    assert!(u64::from(lost > 0) <= server.reused_refresh_tokens());
    let left: Vec<_> = files(folder).into_iter().filter(|file| is_temporary(file)).collect();
    assert!(left.len() <= 1, "{left:?}");
}

fn is_temporary(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "tmp")
}

/// A call that nobody waits for any more must not take a renewal along: the old token is spent.
#[tokio::test]
async fn a_call_cancelled_during_renewal_keeps_the_sign_in() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    let client = machine.client().await;
    machine.server.expire_access_tokens();
    let late = Endpoint::failing(Fault::Late(Duration::from_millis(300)));
    machine.server.change(|script| script.token = late);
    let before = machine.asked();
    {
        let call = std::pin::pin!(machine.echo(&client));
        let asked = async {
            while machine.asked() == before {
                // sleep: how often it is looked whether the renewal has begun.
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            () = call => panic!("the answer was not late"),
            () = asked => {}
        }
    }
    machine.echo(&client).await;
    assert_eq!(machine.asked(), before + 1, "what was begun is taken over");
    client.close().await;
}

/// The same for a program that ends.
#[tokio::test]
async fn closing_waits_for_a_renewal() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    let client = machine.client().await;
    machine.server.expire_access_tokens();
    let late = Endpoint::failing(Fault::Late(Duration::from_millis(300)));
    machine.server.change(|script| script.token = late);
    let (before, old) = (machine.asked(), machine.tokens());
    let call = tokio::spawn(call(client.clone()));
    while machine.asked() == before {
        tokio::task::yield_now().await;
    }
    call.abort();
    client.close().await;
    assert_ne!(machine.tokens()["refresh_token"], old["refresh_token"]);
}

#[tokio::test]
async fn a_lost_renewal_response_requires_a_sign_in() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    let client = machine.client().await;
    machine.at_rest(&client).await;
    machine.server.change(|script| script.token = Endpoint::failing_times(1, Fault::Lost));
    machine.server.expire_access_tokens();
    let before = machine.asked();
    let error = machine.call(&client, "echo").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
    let error = machine.call(&client, "echo").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SignIn, "{error}");
    until(&client, "signed out", needs_sign_in).await;
    machine.call(&client, "echo").await.unwrap_err();
    assert_eq!(machine.asked(), before + 2, "one whose answer was lost, one that was refused");
    machine.sign_in().await;
    until(&client, "ready again", is_ready).await;
    machine.echo(&client).await;
    client.close().await;
}
