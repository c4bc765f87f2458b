//! `agent down`: the service of `agent up` of this profile, and no other.

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::process::{Command, Stdio};

use agent_test_support::command::ProgramOutput;
use agent_test_support::wait::eventually;
use rustix::process::Signal;

use super::up::Machine;
use super::{chat_body, plain, send, settings};

fn down(machine: &Machine, arguments: &[&str]) -> ProgramOutput {
    machine.agent.run(["down"].iter().chain(arguments))
}

fn filters() -> insta::Settings {
    let mut settings = settings();
    settings.add_filter(r"process \d+", "process [n]");
    settings
}

#[test]
fn down_stops_a_running_service() {
    let machine = Machine::new();
    let nothing = down(&machine, &[]).transcript();
    assert!(!machine.home().exists(), "nothing is made");
    let mut served = machine.start();
    let stopped = down(&machine, &[]).transcript();
    assert_eq!(served.wait(), Some(0));
    let again = down(&machine, &[]).transcript();
    let told = plain(&machine.agent, &format!("{nothing}\n{stopped}\n{again}"));
    filters().bind(|| insta::assert_snapshot!(told));
}

#[test]
fn json_output_names_the_stopped_service() {
    let machine = Machine::new();
    let json = || -> serde_json::Value {
        let run = down(&machine, &["--json"]);
        assert_eq!(run.code, 0, "{run:?}");
        serde_json::from_str(&run.stdout).unwrap()
    };
    assert_eq!(json()["stopped"], false);
    let mut served = machine.start();
    let told = json();
    assert_eq!(
        (&told["stopped"], &told["address"]),
        (&true.into(), &served.address.clone().into())
    );
    assert_eq!(served.wait(), Some(0));
}

#[test]
fn down_drains_requests_and_a_second_call_aborts_them() {
    let machine = Machine::new();
    machine.server.set_models(&["gate-mid"]);
    let mut served = machine.start();
    let mut stream = TcpStream::connect(&served.address).unwrap();
    send(
        &mut stream,
        ("POST", "/v1/chat/completions"),
        &machine.key(),
        &chat_body("ollama/gate-mid", true),
    );
    let mut first = [0; 1];
    stream.read_exact(&mut first).unwrap();
    let told = down(&machine, &["--wait", "0"]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.stderr.contains("is still finishing requests"), "{told:?}");
    assert!(told.stderr.contains("run `agent down` again to stop it immediately"), "{told:?}");
    // The first signal was heard before the second one comes.
    while !served.line().starts_with("Stopping") {}
    let told = down(&machine, &[]);
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(served.wait(), Some(143));
}

#[test]
fn a_second_service_of_a_profile_is_rejected() {
    let machine = Machine::new();
    let served = machine.start();
    let run = ProgramOutput::of(&mut machine.up(&["--listen", "127.0.0.1:0"]), b"");
    assert_eq!(run.code, 1, "{run:?}");
    let said = format!("runs already at http://{}, as process ", served.address);
    assert!(run.stderr.contains(&said) && run.stderr.contains("`agent down`"), "{run:?}");
    // Another profile has a separate service.
    let other = machine.agent.run(["--profile", "work", "down"]);
    assert_eq!(other.code, 0, "{other:?}");
    assert!(other.stderr.contains("The service of this profile is not running"), "{other:?}");
}

#[test]
fn a_recycled_process_id_is_not_signalled() {
    let machine = Machine::new();
    let mut served = machine.start();
    served.signal(Signal::KILL);
    served.wait();
    let mut stranger = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
    let note = machine.home().join("gateway/up.lock");
    fs::write(&note, format!("{{\"pid\":{},\"address\":null}}", stranger.id())).unwrap();
    let run = down(&machine, &[]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("The service of this profile is not running"), "{run:?}");
    // Even while somebody holds the lock.
    let lock = fs::File::options().read(true).write(true).open(&note).unwrap();
    lock.lock().unwrap();
    let run = down(&machine, &[]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("is not the service"), "{run:?}");
    assert!(stranger.try_wait().unwrap().is_none(), "the stranger was ended");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn a_starting_service_can_be_stopped() {
    let machine = Machine::new();
    // A server that takes connections and says nothing holds the start up.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("gpu=http://{}/v1", silent.local_addr().unwrap());
    let mut child = machine
        .up(&["--listen", "127.0.0.1:0", "--server", &server])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _held = silent.accept().unwrap();
    let run = down(&machine, &[]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.starts_with("Stopped the service (process "), "{run:?}");
    eventually("it ends", || child.try_wait().unwrap().is_some());
}
