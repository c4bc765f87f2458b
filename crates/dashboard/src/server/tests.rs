//! The idle exit.

use std::net::Ipv4Addr;
use std::process::Command;

use super::*;

const IDLE: Duration = Duration::from_millis(20);

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(test);
}

#[test]
fn an_idle_dashboard_stops_and_removes_its_socket() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("dashboard.sock");
    run(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let program = Program { path: "true".into(), options: Vec::new() };
        let options =
            Options { program, socket: socket.clone(), metrics: Router::new(), idle: IDLE };
        let opened = |_| assert!(socket.exists());
        serve(listener, options, ("/", None), opened, std::future::pending()).await.unwrap();
    });
    assert!(!socket.exists());
}

#[test]
fn a_running_command_keeps_the_dashboard() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    run(async {
        let app = App {
            program: Program { path: "cat".into(), options: Vec::new() },
            access: Access::new(0),
            assets: AssetSet::new(&OWN_ASSETS),
            servers: ServerWatch::default(),
            chats: LiveChats::default(),
            jobs: Jobs::default(),
            links: Links::default(),
        };
        let words = [pipe.to_str().unwrap()];
        app.jobs.start(&app.program, (String::new(), "/"), &words, async {}).unwrap();
        assert!(tokio::time::timeout(IDLE * 5, idle_end(&app, IDLE)).await.is_err());
        fs::write(&pipe, "the command reads this and ends").unwrap();
        idle_end(&app, IDLE).await;
        assert!(!app.jobs.is_busy());
    });
}
