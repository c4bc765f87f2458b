//! A service for the official conformance suite.
//!
//! The suite has no key, so requests to the printed address are forwarded to the service with a key;
//! nothing else is changed. It ends with its standard input.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use agent_test_support::upstream::Upstream;
use document_parser::WorkerProgram;
use gateway::config;
use gateway_store::{Actor, NewKey, Scope, Store};
use ledger::{Limits, Micros, PostingKind, Transfer};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use wire::key::{ApiKey, RANDOM_BYTES};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// The longest head of a request.
const MAX_HEAD: usize = 64 * 1024;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = io::stderr().write_all(format!("{error}\n").as_bytes());
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Outcome {
    let folder = tempfile::tempdir()?;
    let upstream = Upstream::start();
    let config = configuration(&upstream, folder.path())?;
    let key = customer(&config).await?;
    let parser = WorkerProgram {
        path: std::env::current_exe()?.with_file_name("parse_worker"),
        arguments: Vec::new(),
        environment: Vec::new(),
    };
    let ready =
        gateway::prepare(config, parser).await.map_err(|problems| format!("{problems:?}"))?;
    let inner = ready.listener.local_addr()?;
    let outer = TcpListener::bind("127.0.0.1:0").await?;
    let told = format!("http://{}/mcp\n", outer.local_addr()?);
    tokio::spawn(async move {
        while let Ok((stream, _)) = outer.accept().await {
            let key = key.clone();
            tokio::spawn(async move { pass_on(stream, inner, &key).await });
        }
    });
    io::stdout().write_all(told.as_bytes())?;
    let (stop, stopped) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        drop(stop);
    });
    let shutdown = async {
        let _: Result<(), _> = stopped.await;
    };
    gateway::serve(ready, shutdown).await?;
    Ok(())
}

fn configuration(upstream: &Upstream, folder: &Path) -> Outcome<config::Config> {
    let text = format!(
        "listen: 127.0.0.1:0\n\
         database: {{url: \"sqlite:gateway.sqlite3\", durability: process}}\n\
         providers:\n  up: {{kind: openai, base_url: \"{}\", api_key: \"{}\", models: [echo]}}\n",
        upstream.base_url(),
        upstream.key()
    );
    let reading = config::read(&text, &settings::Scope::default(), folder);
    reading.config.ok_or_else(|| format!("{:?}", reading.problems).into())
}

/// A member who can pay, and a key for everything.
async fn customer(config: &config::Config) -> Outcome<ApiKey> {
    let (place, options) = gateway::database_location(config);
    Store::migrate(&place, &options).await?;
    let store = Store::open(&place, &options).await?;
    let actor = Actor { name: "suite".to_owned(), request: None };
    let member = store.create_member("suite", &actor).await?.id;
    let transfer = Transfer {
        member,
        kind: PostingKind::TopUp,
        amount: Micros::new(1_000_000_000),
        reason: "to be judged".to_owned(),
        reference: None,
    };
    store.post(transfer, &actor).await?.map_err(|refusal| format!("{refusal:?}"))?;
    let key = loop {
        let bytes: [u8; RANDOM_BYTES] = std::array::from_fn(|_| fastrand::u8(..));
        if let Some(key) = ApiKey::from_random(&bytes) {
            break key;
        }
    };
    let hasher =
        gateway::key_secret::load(&config.key_secret).map_err(|problem| format!("{problem:?}"))?;
    let new = NewKey {
        id: key.public_id().to_owned(),
        hash: hasher.hash(&key),
        member,
        name: "suite".to_owned(),
        scopes: Scope::ALL.to_vec(),
        models: None,
        expires_at: None,
        limits: Limits::default(),
    };
    store.create_key(&new, &actor).await?;
    Ok(key)
}

/// Passes one request on with the key, and everything that comes back.
async fn pass_on(mut client: TcpStream, to: SocketAddr, key: &ApiKey) -> io::Result<()> {
    let mut read = Vec::new();
    let line_end = loop {
        if let Some(end) = read.windows(2).position(|bytes| bytes == b"\r\n") {
            break end + 2;
        }
        if client.read_buf(&mut read).await? == 0 || read.len() > MAX_HEAD {
            return Ok(());
        }
    };
    let (line, rest) = read.split_at(line_end);
    // One request a connection, so that its head is all that has to be understood.
    let added = format!("authorization: Bearer {}\r\nconnection: close\r\n", key.as_str());
    let mut service = TcpStream::connect(to).await?;
    service.write_all(&[line, added.as_bytes(), rest].concat()).await?;
    copy_bidirectional(&mut client, &mut service).await?;
    Ok(())
}
