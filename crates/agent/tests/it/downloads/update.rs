//! `agent update` against `agent up`, with programs that were published by `agent gateway`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::*;
use crate::command_line::agent;
use crate::gateway::Served;

/// The version of the program under test.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// `agent up` on a machine, and a copy of the program that looks there for updates.
pub(super) struct Machine {
    pub(super) agent: TestHome,
    pub(super) served: Served,
    pub(super) key: String,
}

impl Machine {
    pub(super) fn up() -> Self {
        let agent = agent();
        install(&agent);
        let mut up = agent.command(["up", "--no-discover", "--no-download", "--listen"]);
        up.arg("127.0.0.1:0");
        let served = Served::start(up.env("USER", "me"));
        let key = agent.run(["gateway", "downloads", "key"]);
        assert_eq!(key.code, 0, "{key:?}");
        Self { agent, served, key: key.stdout.trim().to_owned() }
    }

    /// Publishes a file as the program of this machine.
    pub(super) fn publish(&self, version: &str, content: &[u8]) {
        let folder = self.agent.work().join(format!("dist-{version}"));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("agent-for-tests");
        fs::write(&path, content).unwrap();
        let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
        let run = self.agent.run([
            "gateway",
            "downloads",
            "publish",
            "--version",
            version,
            "--platform",
            &platform,
            path.to_str().unwrap(),
        ]);
        assert_eq!(run.code, 0, "{run:?}");
    }

    /// `agent update …` of the installed copy, with the right key.
    pub(super) fn update(&self, arguments: &[&str]) -> ProgramOutput {
        ProgramOutput::of(self.command(arguments).args(["--public-key", &self.key]), b"")
    }

    /// The same without a key.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        installed(&self.agent, &format!("http://{}", self.served.address), arguments)
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.agent.work().join("bin")
    }

    pub(super) fn transcript(&self, run: &ProgramOutput) -> String {
        transcript(&self.agent, run)
    }
}

/// Puts a copy of the program where it can replace itself.
pub(super) fn install(agent: &TestHome) {
    install_into(&agent.work().join("bin"));
}

fn install_into(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let (from, to) = (env!("CARGO_BIN_EXE_agent"), folder.join("agent"));
    fs::hard_link(from, &to).or_else(|_| fs::copy(from, &to).map(drop)).unwrap();
}

/// `agent update …` of the copy, with the service at an address.
pub(super) fn installed(agent: &TestHome, url: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(agent.work().join("bin/agent"));
    command.arg("update").args(arguments).env_clear().current_dir(agent.work());
    command.env("AGENT_HOME", agent.home()).env("PATH", std::env::var_os("PATH").unwrap());
    command.env("AGENT_BASE_URL", format!("{url}/v1"));
    command
}

/// A program that says its version and nothing else.
pub(super) fn script(version: &str) -> Vec<u8> {
    format!("#!/bin/sh\necho agent {version}\n").into_bytes()
}

/// What a program says its version is.
fn says(path: &Path) -> String {
    let output = Command::new(path).arg("--version").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_newer_version_replaces_the_program() {
    let machine = Machine::up();
    machine.publish("9.9.9", &script("9.9.9"));
    let check = machine.update(&["--check"]);
    let json = machine.update(&["--check", "--json"]);
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json.code, &document["update_available"]), (0, &true.into()), "{json:?}");
    assert_eq!(names(&machine.folder()), ["agent"], "looking changes nothing");
    let done = machine.update(&[]);
    filters().bind(|| {
        insta::assert_snapshot!(format!(
            "{}\n{}\n{}",
            machine.transcript(&check),
            machine.transcript(&json),
            machine.transcript(&done)
        ));
    });
    let program = machine.folder().join("agent");
    assert_eq!(fs::read(&program).unwrap(), script("9.9.9"));
    assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(says(&machine.folder().join("agent.previous")), format!("agent {VERSION}"));
    assert_eq!(names(&machine.folder()), ["agent", "agent.previous"]);
}

#[test]
fn a_real_program_updates_itself_and_rolls_back() {
    // The same program, which says that it is a newer one.
    let newer = format!("9{}", &VERSION[1..]);
    let machine = Machine::up();
    machine.publish(&newer, &renamed(&machine, VERSION, &newer));
    let program = machine.folder().join("agent");
    let run = machine.update(&[]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(says(&program), format!("agent {newer}"));
    let run = machine.update(&["--json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&document["state"], &document["current"]), (&"same".into(), &newer.into()));
    let back = ProgramOutput::of(&mut machine.command(&["--rollback"]), b"");
    filters().bind(|| insta::assert_snapshot!(machine.transcript(&back)));
    assert_eq!(says(&program), format!("agent {VERSION}"));
    let forth = ProgramOutput::of(&mut machine.command(&["--rollback", "--json"]), b"");
    assert_eq!(forth.code, 0, "{forth:?}");
    assert_ne!(says(&program), format!("agent {VERSION}"), "the way back has a way back");
    assert_eq!(names(&machine.folder()), ["agent", "agent.previous"]);
}

/// The program under test with another version in it, of equal length.
fn renamed(machine: &Machine, from: &str, to: &str) -> Vec<u8> {
    let copy = machine.agent.work().join("copy");
    fs::copy(env!("CARGO_BIN_EXE_agent"), &copy).unwrap();
    // Smaller is faster; where there is no such tool it is just slower.
    let _ = Command::new("strip").arg(&copy).status();
    let mut bytes = fs::read(&copy).unwrap();
    fs::remove_file(&copy).unwrap();
    let (from, to) = (from.as_bytes(), to.as_bytes());
    let mut place = 0;
    while place + from.len() <= bytes.len() {
        if bytes[place] == from[0] && &bytes[place..place + from.len()] == from {
            bytes[place..place + to.len()].copy_from_slice(to);
        }
        place += 1;
    }
    bytes
}

#[test]
fn a_downgrade_needs_an_explicit_option() {
    let machine = Machine::up();
    machine.publish("0.0.1", &script("0.0.1"));
    let refused = machine.update(&[]);
    filters().bind(|| insta::assert_snapshot!(machine.transcript(&refused)));
    assert_eq!(names(&machine.folder()), ["agent"]);
    let wanted = machine.update(&["--allow-downgrade"]);
    assert_eq!(wanted.code, 0, "{wanted:?}");
    assert_eq!(says(&machine.folder().join("agent")), "agent 0.0.1");
}

#[test]
fn a_missing_or_wrong_signing_key_rejects_every_manifest() {
    let machine = Machine::up();
    machine.publish("9.9.9", &script("9.9.9"));
    let without = ProgramOutput::of(&mut machine.command(&[]), b"");
    let other = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let wrong = ProgramOutput::of(machine.command(&[]).args(["--public-key", other]), b"");
    let unreadable = ProgramOutput::of(machine.command(&[]).args(["--public-key", "abc"]), b"");
    filters().bind(|| {
        insta::assert_snapshot!(format!(
            "{}\n{}\n{}",
            machine.transcript(&without),
            machine.transcript(&wrong),
            machine.transcript(&unreadable)
        ));
    });
    assert_eq!(names(&machine.folder()), ["agent"]);
    // In the configuration, it needs no option.
    let config = format!("update:\n  public_key: {}\n", machine.key);
    fs::write(machine.agent.home().join("config.yaml"), config).unwrap();
    let run = ProgramOutput::of(&mut machine.command(&["--check"]), b"");
    assert!(run.code == 0 && run.stdout.contains("9.9.9 is available"), "{run:?}");
}

#[test]
fn a_modified_manifest_is_rejected() {
    let machine = Machine::up();
    machine.publish("9.9.9", &script("9.9.9"));
    let path = machine.agent.home().join("gateway/downloads/manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("9.9.9", "9.9.8")).unwrap();
    let run = machine.update(&[]);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.stderr.contains("the signature of the manifest is wrong"), "{run:?}");
    assert_eq!(names(&machine.folder()), ["agent"]);
}

#[test]
fn a_broken_or_mismatched_program_is_not_installed() {
    for (version, content) in [
        ("9.9.1", b"no program".to_vec()),
        ("9.9.2", script("9.9.3")),
        ("9.9.4", b"#!/bin/sh\nexit 3\n".to_vec()),
        ("9.9.5", b"#!/bin/sh\nprintf '\\033[2Jhello'\n".to_vec()),
        ("9.9.6", b"#!/no/such/interpreter\n".to_vec()),
        ("9.9.7", b"#!/bin/sh\nexec yes agent 9.9.7\n".to_vec()),
        ("9.9.8", b"#!/bin/sh\nexec sleep 600\n".to_vec()),
    ] {
        let machine = Machine::up();
        machine.publish(version, &content);
        let run = machine.update(&[]);
        assert!(matches!(run.code, 1 | 5), "{run:?}");
        assert!(run.stderr.contains("nothing was changed"), "{run:?}");
        assert!(!run.stderr.contains('\x1b'), "{run:?}");
        assert_eq!(names(&machine.folder()), ["agent"]);
        assert_eq!(says(&machine.folder().join("agent")), format!("agent {VERSION}"));
    }
}

#[test]
fn package_managed_installations_get_their_own_command() {
    let agent = agent();
    install(&agent);
    let mut text = String::new();
    for method in ["apt", "homebrew", "nixos", "docker", "pacman"] {
        let mut command = installed(&agent, "http://127.0.0.1:1", &[]);
        let run = ProgramOutput::of(command.env("AGENT_INSTALL_METHOD", method), b"");
        text += &transcript(&agent, &run);
    }
    let package = agent.work().join("lib/node_modules/agent");
    install_into(&package);
    let mut command = Command::new(package.join("agent"));
    command.arg("update").env_clear().env("AGENT_HOME", agent.home());
    text += &transcript(&agent, &ProgramOutput::of(&mut command, b""));
    insta::assert_snapshot!(text);
}

#[test]
fn an_unwritable_program_folder_is_reported() {
    let size = fs::metadata(env!("CARGO_BIN_EXE_agent")).unwrap().len();
    let disk = agent_test_support::disk::SmallDisk::mount(size + 1024 * 1024);
    let agent = agent();
    let program = disk.path().join("agent");
    fs::copy(env!("CARGO_BIN_EXE_agent"), &program).unwrap();
    disk.make_read_only();
    let mut command = Command::new(&program);
    let run =
        ProgramOutput::of(command.arg("update").env_clear().env("AGENT_HOME", agent.home()), b"");
    let text = run.transcript().replace(&disk.path().display().to_string(), "[disk]");
    insta::assert_snapshot!(text);
}

#[test]
fn impossible_updates_and_rollbacks_are_reported() {
    let machine = Machine::up();
    let nothing = machine.update(&[]);
    let no_way_back = ProgramOutput::of(&mut machine.command(&["--rollback"]), b"");
    machine.publish("9.9.9", &script("9.9.9"));
    let folder = fs::File::open(machine.folder()).unwrap();
    folder.lock().unwrap();
    let busy = machine.update(&[]);
    drop(folder);
    filters().bind(|| {
        insta::assert_snapshot!(format!(
            "{}\n{}\n{}",
            machine.transcript(&nothing),
            machine.transcript(&no_way_back),
            machine.transcript(&busy)
        ));
    });
    assert_eq!(names(&machine.folder()), ["agent"]);
}
