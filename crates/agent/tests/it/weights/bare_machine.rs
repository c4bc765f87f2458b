//! `agent up` on a machine that has nothing: from an empty home to a charged answer of a real model.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::gateway::Served;

/// What a person who pasted a line waits for at most.
const PATIENCE: &str = "240";

/// `agent up`, with pip that looks into one folder and nowhere else.
fn up(agent: &TestHome, links: &Path, arguments: &[&str]) -> Command {
    let words = ["up", "--no-discover", "--listen", "127.0.0.1:0"];
    let mut command = agent.command(words.iter().chain(arguments));
    command.env("PIP_NO_INDEX", "1").env("PIP_FIND_LINKS", links).env("USER", "me");
    command
}

/// All that a start says.
fn said(served: &Served) -> Vec<String> {
    let mut lines = served.first_lines.clone();
    while lines.last().is_none_or(|line| line != "Press Ctrl-C to stop.") {
        lines.push(served.line());
    }
    lines
}

/// What it says, as it is the same in every run.
fn shown(agent: &TestHome, lines: &[String]) -> String {
    plain(agent, &lines.join("\n"))
}

/// The commands to try, which are indented.
fn to_paste(lines: &[String]) -> Vec<String> {
    let begin = lines.iter().position(|line| line.starts_with("Try ")).unwrap();
    lines[begin..].iter().filter(|line| line.starts_with("  ")).cloned().collect()
}

/// Pastes a line into a shell that knows nothing of this test.
fn paste(agent: &TestHome, line: &str, typed: &str) -> ProgramOutput {
    let mut command = Command::new("timeout");
    command
        .args([PATIENCE, "sh", "-c", line])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .current_dir(agent.work());
    let run = ProgramOutput::of(&mut command, typed.as_bytes());
    assert_eq!(run.code, 0, "{line}\n{run:?}");
    run
}

#[test]
fn an_empty_home_starts_and_serves_a_charged_answer() {
    let agent = agent();
    let served = Served::start(&mut up(&agent, &peers(), &[]));
    let lines = said(&served);
    filters().bind(|| insta::assert_snapshot!("first_start", shown(&agent, &lines)));
    is_whole(&agent);
    let pasted = to_paste(&lines);
    let [chat, run, account] = pasted.as_slice() else { panic!("{pasted:?}") };

    let answer = paste(&agent, chat, "Say hello.\n");
    assert!(!answer.stdout.trim().is_empty(), "{answer:?}");
    // Nobody mentions tools where there are neither tools nor servers.
    assert!(!answer.stderr.contains("tools"), "{answer:?}");
    let words = paste(&agent, run, "").stdout;
    assert!(!words.trim().is_empty(), "{words}");

    let task = paste(&agent, &format!("{run} --json"), "");
    let events: Vec<Value> =
        task.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.len() > 3, "a streamed answer has parts: {events:?}");
    assert_eq!(events.last().unwrap()["spent"]["charge_micros"], 1000, "{events:?}");

    // Three answers of 1000 micro-credits each.
    let told = paste(&agent, account, "");
    assert!(told.stdout.contains("3 requests, 0.003"), "{told:?}");
    assert!(told.stdout.contains("999.997"), "{told:?}");

    restarts_quickly(&agent, served);
}

/// The second start finds everything: there is no index any more, and nobody calls Python.
fn restarts_quickly(agent: &TestHome, mut served: Served) {
    let stopped = agent.run(["down"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    assert!(stopped.stdout.starts_with("Stopped the service at http://127.0.0.1:"), "{stopped:?}");
    assert_eq!(served.wait(), Some(0));
    let mut again = up(agent, agent.work(), &[]);
    let called = agent.work().join("called");
    with_python(agent, again.env("CALLED", &called), "echo \"$@\" > \"$CALLED\"; exit 1");
    let begun = Instant::now();
    let served = Served::start(&mut again);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let lines = said(&served);
    assert!(lines[0].starts_with("Listening on ") && !called.exists(), "{lines:?}");
    assert!(lines.contains(&"  Models     1 from local".to_owned()), "{lines:?}");
    let key = fs::read_to_string(agent.home().join(".env")).unwrap();
    let key = key.lines().find_map(|line| line.strip_prefix("AGENT_API_KEY=")).unwrap();
    let body = r#"{"model":"local/smollm2-135m","max_tokens":8,
        "messages":[{"role":"user","content":"Say hello."}]}"#;
    let (status, body) = served.ask("POST", "/v1/chat/completions", key, body);
    assert_eq!(status, 200, "{body}");
}

#[test]
fn a_failed_download_is_reported_and_the_service_starts() {
    let agent = agent();
    let served = Served::start(&mut up(&agent, agent.work(), &[]));
    let lines = said(&served);
    filters().bind(|| insta::assert_snapshot!("first_start_without_index", shown(&agent, &lines)));
    is_empty(&agent);
    fetched(&agent);
    let key = fs::read_to_string(agent.home().join(".env")).unwrap();
    let key = key.lines().find_map(|line| line.strip_prefix("AGENT_API_KEY=")).unwrap().to_owned();
    drop(served);
    // The next start finds what was fetched meanwhile.
    let served = Served::start(&mut up(&agent, agent.work(), &[]));
    assert!(said(&served).contains(&"  Models     1 from local".to_owned()));
    let (status, body) = served.ask("GET", "/v1/models", &key, "");
    assert_eq!(status, 200, "{body}");
    for words in ["local/smollm2-135m", "apache-2.0", "no tools"] {
        assert!(body.contains(words), "{words}: {body}");
    }
}

#[test]
fn a_truncated_model_file_is_downloaded_again() {
    let agent = agent();
    fs::create_dir_all(models(&agent)).unwrap();
    let whole = fs::read(smollm2()).unwrap();
    fs::write(models(&agent).join("smollm2-135m.gguf"), &whole[..whole.len() / 2]).unwrap();
    let served = Served::start(&mut up(&agent, &peers(), &[]));
    let lines = said(&served);
    assert!(lines[1].contains("is damaged or a different file; downloading it again"), "{lines:?}");
    assert!(lines.contains(&"  Models     1 from local".to_owned()), "{lines:?}");
    is_whole(&agent);
}

#[test]
fn the_no_download_option_downloads_nothing() {
    let agent = agent();
    let served = Served::start(&mut up(&agent, &peers(), &["--no-download"]));
    let lines = said(&served);
    assert!(lines[0].starts_with("Listening on "), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("agent models pull smollm2-135m")), "{lines:?}");
    assert!(everything(&models(&agent)).is_empty());
}

#[test]
fn an_existing_service_without_a_chat_model_gets_a_local_one() {
    let agent = agent();
    let folder = agent.home().join("gateway");
    fs::create_dir_all(&folder).unwrap();
    let before = "listen: 127.0.0.1:0\nproviders:\n  voice: {kind: espeak, models: [en]}\n";
    fs::write(folder.join("gateway.yaml"), before).unwrap();
    let served = Served::start(&mut up(&agent, &peers(), &[]));
    let lines = said(&served);
    assert!(lines[0].starts_with("No model found. Downloading SmolLM2-135M-Instruct"), "{lines:?}");
    let note = "local is not in the configuration; it is used until the service stops.".to_owned();
    assert!(lines.contains(&note), "{lines:?}");
    assert_eq!(fs::read_to_string(folder.join("gateway.yaml")).unwrap(), before);
    is_whole(&agent);
}

#[test]
fn a_service_with_another_provider_downloads_nothing() {
    let agent = agent();
    let folder = agent.home().join("gateway");
    fs::create_dir_all(&folder).unwrap();
    let text = "listen: 127.0.0.1:0\nproviders:\n  far:\n    kind: openai\n    \
                base_url: http://127.0.0.1:9/v1\n    models: [x]\n";
    fs::write(folder.join("gateway.yaml"), text).unwrap();
    let served = Served::start(&mut up(&agent, &peers(), &[]));
    let lines = said(&served);
    assert!(lines[0].starts_with("Listening on "), "{lines:?}");
    assert!(!models(&agent).exists());
}

#[test]
fn ctrl_c_during_a_download_stops_all_processes() {
    let agent = agent();
    let note = agent.work().join("pip.pid");
    let mut command = up(&agent, &peers(), &[]);
    // A pip that never comes to its end.
    with_python(
        &agent,
        &mut command,
        "echo $$ > \"$NOTE.new\"; mv \"$NOTE.new\" \"$NOTE\"; exec sleep 600",
    );
    let mut child = command
        .env("NOTE", &note)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    agent_test_support::wait::eventually("pip runs", || note.exists());
    let pid = |number: i32| Pid::from_raw(number).unwrap();
    kill_process(pid(i32::try_from(child.id()).unwrap()), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let pip: i32 = fs::read_to_string(note).unwrap().trim().parse().unwrap();
    assert!(rustix::process::test_kill_process(pid(pip)).is_err(), "pip lives on");
    is_empty(&agent);
}

#[test]
fn doctor_reports_model_files() {
    let agent = agent();
    fetched(&agent);
    fs::write(models(&agent).join("broken.gguf"), "x").unwrap();
    let told = agent.run(["doctor", "--offline", "--json"]);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    let text = told.to_string();
    assert!(text.contains("1 model file, 98 MB, in "), "{text}");
    assert!(text.contains("`broken` cannot be used: "), "{text}");
    assert!(text.contains("remove it with `agent models remove broken`"), "{text}");
}
