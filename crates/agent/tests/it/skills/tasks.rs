//! A model gets the list of skills, and loads them.

use std::fs;

use serde_json::json;

use super::{SkillFixture, file, load};

#[test]
fn a_model_gets_the_skill_list_and_loads_a_skill() {
    let house = SkillFixture::new();
    house.skill("review", "How changes are reviewed here", "Look at the tests first.");
    house.skill("release", "How a release is made", "Ask twice.");
    let folder = house.agent.home().join("skills/review");
    fs::create_dir(folder.join("more")).unwrap();
    fs::write(folder.join("more/list.txt"), "1. names\n2. limits\n").unwrap();
    let run = house.task(&[load("review"), file("review", "more/list.txt")]);
    assert_eq!((run.code, &*run.stdout), (0, "Done.\n"), "{run:?}");
    let opening = house.opening();
    assert!(
        opening.contains(
            "Available skills:\n- release: How a release is made\n- review: How changes are \
             reviewed here"
        ),
        "{opening}"
    );
    assert!(house.tools().contains(&"load_skill".to_owned()));
    let results = house.results();
    let expected = format!(
        "[skill review, in the folder {}]\n[other files, for `file`: more/list.txt]\n\nLook at \
         the tests first.",
        fs::canonicalize(&folder).unwrap().display()
    );
    assert_eq!(results, [expected.as_str(), "1. names\n2. limits\n"]);
    assert!(!opening.contains("Look at the tests first"), "only loaded skills are included");
}

#[test]
fn without_skills_the_model_gets_no_skill_tool() {
    let house = SkillFixture::new();
    let run = house.task(&[]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!house.opening().contains("kill"), "{}", house.opening());
    assert!(!house.tools().contains(&"load_skill".to_owned()));
    assert!(!house.agent.home().join("skills").exists(), "nothing is made for nothing");
    house.skill("review", "x", "y");
    let run = house.run(&["run", "-m", "ollama/echo", "--no-tools", "Hello"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!house.opening().contains("kill"));
}

#[test]
fn a_model_cannot_read_files_outside_a_skill() {
    use std::os::unix::fs::symlink;
    let house = SkillFixture::new();
    house.skill("review", "How changes are reviewed here", "Look.");
    let secret = house.agent.work().join("secret.txt");
    fs::write(&secret, "the secret\n").unwrap();
    let folder = house.agent.home().join("skills/review");
    symlink(&secret, folder.join("out.txt")).unwrap();
    symlink(house.agent.work(), folder.join("up")).unwrap();
    fs::write(folder.join("big.txt"), "x".repeat(300 * 1024)).unwrap();
    fs::write(folder.join("picture.png"), b"\x89PNG\0\0").unwrap();
    let secret = secret.display().to_string();
    let calls = [
        load("../../etc/passwd"),
        load("reviev"),
        load("review\u{1b}[2J"),
        load(""),
        json!({}),
        json!({"name": ["review"]}),
        file("review", "../../../etc/passwd"),
        file("review", "/etc/passwd"),
        file("review", &secret),
        file("review", "out.txt"),
        file("review", "up/secret.txt"),
        file("review", "big.txt"),
        file("review", "picture.png"),
        file("review", "bigger.txt"),
    ];
    let expected = [
        "error: no skill named `../../etc/passwd`",
        "error: no skill named `reviev`; did you mean `review`?",
        "error: no skill named `review\\u{1b}[2J`",
        "error: no skill named ``",
        "error: `name` is missing",
        "error: `name` must be text",
        "error: `../../../etc/passwd` of skill `review`: not a path inside the skill's folder",
        "error: `/etc/passwd` of skill `review`: not a path inside the skill's folder",
        "not a path inside the skill's folder",
        "error: `out.txt` of skill `review`: a link to a place outside the skill's folder",
        "a link to a place outside the skill's folder",
        "error: `big.txt` of skill `review`: larger than 256 KiB",
        "error: `picture.png` of skill `review`: not a text file",
        "error: `bigger.txt` of skill `review`: file not found; did you mean `big.txt`?",
    ];
    let run = house.task(&calls);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.stderr.contains('\u{1b}'), "{run:?}");
    let results = house.results();
    assert_eq!(results.len(), expected.len());
    for (result, expected) in results.iter().zip(expected) {
        assert!(result.contains(expected), "{result}\n{expected}");
        assert!(!result.contains("the secret") && !result.contains("root:"), "{result}");
    }
}

#[test]
fn a_broken_skill_is_reported_and_others_work() {
    let house = SkillFixture::new();
    house.skill("review", "How changes are reviewed here", "Look.");
    house.skill("torn", "[unclosed", "Look.");
    let run = house.task(&[load("review"), load("torn")]);
    assert_eq!(run.code, 0, "{run:?}");
    let place = house.agent.home().join("skills/torn/SKILL.md");
    let place = fs::canonicalize(place).unwrap().display().to_string();
    let warning = run.stderr.lines().find(|line| line.starts_with("warning: skipped: ")).unwrap();
    assert!(warning.contains(&place), "{warning}");
    let opening = house.opening();
    assert!(opening.contains("- review: ") && !opening.contains("torn"), "{opening}");
    let results = house.results();
    assert!(results[0].ends_with("Look."), "{results:?}");
    assert!(results[1].starts_with(&format!("error: {place}:")), "{results:?}");
}

#[test]
fn a_skill_is_loaded_even_if_its_use_cannot_be_recorded() {
    let house = SkillFixture::new();
    house.skill("review", "How changes are reviewed here", "Look.");
    let usage = house.agent.home().join("skills/.usage.json");
    fs::write(&usage, "{\"skills\": 5}").unwrap();
    let run = house.task(&[load("review")]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(house.results()[0].ends_with("Look."));
    assert!(run.stderr.contains("warning: cannot record the use of skills: "), "{run:?}");
    assert!(run.stderr.contains("cannot record the use of review: "), "{run:?}");
    assert_eq!(fs::read_to_string(usage).unwrap(), "{\"skills\": 5}");
}

#[test]
fn a_skill_changed_during_a_task_is_read_again() {
    let house = SkillFixture::new();
    house.skill("review", "How changes are reviewed here", "Look.");
    house.task(&[load("review")]);
    house.skill("review", "How changes are reviewed here", "Look twice.");
    house.task(&[load("review")]);
    assert!(house.results()[0].ends_with("Look twice."));
    fs::remove_dir_all(house.agent.home().join("skills/review")).unwrap();
    house.skill("other", "x", "y");
    house.task(&[load("review")]);
    assert_eq!(house.results(), ["error: no skill named `review`"]);
}
