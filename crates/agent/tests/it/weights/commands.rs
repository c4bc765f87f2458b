//! `agent models local`, `add` and `remove`.

use std::os::unix::fs::symlink;

use super::*;
use crate::mcp_config::terminal;
use crate::member::terminal::on_terminal;

fn snapshot(agent: &TestHome, name: &str, arguments: &[&str]) {
    let run = run(&mut model(agent, agent.work(), arguments));
    filters().bind(|| insta::assert_snapshot!(name, transcript(agent, &run)));
}

/// The file that is kept, where a person might have it.
fn own_file(agent: &TestHome) -> PathBuf {
    let path = agent.work().join("My.Model-Q4.gguf");
    symlink(peers().join("smollm2-135m.gguf"), &path).unwrap();
    path
}

#[test]
fn without_models_the_downloadable_ones_are_listed() {
    let agent = agent();
    snapshot(&agent, "list_nothing", &["local"]);
    let told = json(&mut model(&agent, agent.work(), &["local"]));
    assert_eq!(told["models"], serde_json::json!([]));
    assert_eq!(told["fetchable"][0]["name"], NAME, "{told}");
    assert_eq!(told["fetchable"][0]["bytes"], BYTES, "{told}");
    assert!(!agent.home().exists());
}

#[test]
fn a_file_is_added_listed_and_removed() {
    let agent = agent();
    own_file(&agent);
    snapshot(&agent, "add", &["add", "My.Model-Q4.gguf"]);
    snapshot(&agent, "add_again", &["add", "My.Model-Q4.gguf"]);
    snapshot(&agent, "add_replaced", &["add", "My.Model-Q4.gguf", "--replace"]);
    snapshot(&agent, "add_named", &["add", "My.Model-Q4.gguf", "--name", "other"]);
    snapshot(&agent, "list", &["local"]);
    let mut command = model(&agent, agent.work(), &["local"]);
    let shown = on_terminal(&mut command);
    filters().bind(|| insta::assert_snapshot!("list_on_a_terminal", transcript(&agent, &shown)));
    let told = json(&mut model(&agent, agent.work(), &["local"]));
    let first = &told["models"][0];
    assert_eq!((&first["name"], &first["tools"]), (&"My.Model-Q4".into(), &false.into()));
    assert_eq!((&first["bytes"], &first["sha256"]), (&BYTES.into(), &SHA256.into()), "{told}");
    assert_eq!((&first["licence"], &first["context"]), (&"apache-2.0".into(), &8192.into()));
    assert!(first["loaded_bytes"].as_u64().unwrap() > 90_000_000, "{told}");
    snapshot(&agent, "remove_unasked", &["remove", "other"]);
    snapshot(&agent, "remove", &["remove", "other", "--yes"]);
    let told = json(&mut model(&agent, agent.work(), &["remove", "My.Model-Q4", "--yes"]));
    assert_eq!(told["removed"], "My.Model-Q4", "{told}");
    is_empty(&agent);
    assert!(peers().join("smollm2-135m.gguf").exists());
}

#[test]
fn a_declined_removal_keeps_the_file() {
    let agent = agent();
    fetched(&agent);
    let remove = || model(&agent, agent.work(), &["remove", NAME]);
    let kept = terminal::run(&mut remove(), "n\n");
    assert_eq!(kept.code, 0, "{kept:?}");
    assert!(kept.stderr.contains("Remove smollm2-135m (98 MB)? [y/N] "), "{kept:?}");
    assert!(kept.stderr.contains("Nothing was removed."), "{kept:?}");
    is_whole(&agent);
    let gone = terminal::run(&mut remove(), "y\n");
    assert_eq!((gone.code, &*gone.stdout), (0, "Removed smollm2-135m.\n"), "{gone:?}");
    is_empty(&agent);
}

#[test]
fn only_files_of_the_model_folder_can_be_removed() {
    let agent = agent();
    let folder = models(&agent);
    fs::create_dir_all(folder.join("folder.gguf")).unwrap();
    fs::write(agent.home().join("outside.gguf"), "x").unwrap();
    fs::write(agent.work().join("far.gguf"), "x").unwrap();
    symlink(agent.work().join("far.gguf"), folder.join("link.gguf")).unwrap();
    fs::write(folder.join("good.gguf"), "x").unwrap();
    let mut told = String::new();
    for name in ["../outside", "outside", "/etc/passwd", "..", "goood", "folder", "good.gguf"] {
        let run = run(&mut model(&agent, agent.work(), &["remove", name, "--yes"]));
        told += &format!("> {name}\n{}", transcript(&agent, &run));
    }
    filters().bind(|| insta::assert_snapshot!(told));
    assert_eq!(run(&mut model(&agent, agent.work(), &["remove", "link", "--yes"])).code, 0);
    assert!(agent.home().join("outside.gguf").exists());
    assert!(agent.work().join("far.gguf").exists(), "only the link goes");
    assert_eq!(everything(&folder), [".lock", "folder.gguf", "good.gguf"]);
}

#[test]
fn unusable_model_files_are_rejected_with_the_reason() {
    let agent = agent();
    let whole = fs::read(peers().join("smollm2-135m.gguf")).unwrap();
    fs::write(agent.work().join("cut.gguf"), &whole[..50_000_000]).unwrap();
    fs::write(agent.work().join("empty.gguf"), "").unwrap();
    fs::write(agent.work().join("text.gguf"), "# Not a model\n").unwrap();
    fs::write(agent.work().join("two words.gguf"), "x").unwrap();
    let mut told = String::new();
    for path in ["cut.gguf", "empty.gguf", "text.gguf", "two words.gguf", ".", "absent.gguf"] {
        let run = run(&mut model(&agent, agent.work(), &["add", path]));
        told += &format!("> {path}\n{}", transcript(&agent, &run));
    }
    let odd = run(&mut model(&agent, agent.work(), &["add", "text.gguf", "--name", "../x"]));
    told += &format!("> --name ../x\n{}", transcript(&agent, &odd));
    filters().bind(|| insta::assert_snapshot!(told));
    assert!(everything(&models(&agent)).is_empty());
}

#[test]
fn broken_model_files_are_listed_with_the_problem() {
    let agent = agent();
    fetched(&agent);
    let folder = models(&agent);
    fs::write(folder.join("broken.gguf"), "GGUF and nothing more").unwrap();
    fs::write(folder.join("two words.gguf"), "x").unwrap();
    fs::write(folder.join("notes.txt"), "x").unwrap();
    fs::write(folder.join(".hidden.gguf"), "x").unwrap();
    snapshot(&agent, "list_broken", &["local"]);
    let told = json(&mut model(&agent, agent.work(), &["local"]));
    assert_eq!(told["models"].as_array().unwrap().len(), 2, "{told}");
    assert!(told["models"][0]["problem"].is_string(), "{told}");
    assert!(told["models"][1]["problem"].is_null(), "{told}");
}
