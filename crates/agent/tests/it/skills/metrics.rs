//! What happens to skills is counted, once each, where recording is on.

use std::collections::BTreeMap;
use std::fs;

use agent_test_support::command::TestHome;
use serde_json::{Value, json};

use super::{SkillFixture, load, write_skill};

/// What was counted of skills: the dimensions of each entry in order, and how often.
fn counted(agent: &TestHome) -> BTreeMap<String, u64> {
    let run = agent.run(["metrics", "show", "--all", "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let mut counted = BTreeMap::new();
    for package in serde_json::Deserializer::from_str(&run.stdout).into_iter::<Value>() {
        let package = package.unwrap();
        for entry in package["metrics"].as_array().unwrap() {
            let name = entry["name"].as_str().unwrap();
            let Some(kind) = name.strip_prefix("agent.skill.") else { continue };
            let dimensions = entry["dimensions"].as_object().unwrap();
            let values: Vec<&str> =
                dimensions.values().map(|value| value.as_str().unwrap()).collect();
            *counted.entry(format!("{kind} {}", values.join(" "))).or_default() +=
                entry["value"].as_u64().unwrap();
        }
    }
    counted
}

fn entries<const N: usize>(entries: [(&str, u64); N]) -> BTreeMap<String, u64> {
    entries.into_iter().map(|(entry, count)| (entry.to_owned(), count)).collect()
}

#[test]
fn skill_lifecycle_is_counted_exactly() {
    let house = SkillFixture::new();
    assert_eq!(house.agent.run(["metrics", "on"]).code, 0);
    write_skill(house.agent.work(), "review", "How we review", "Look.");
    assert_eq!(house.agent.run(["skills", "install", "review"]).code, 0);
    house.task(&[load("review"), load("review")]);
    house.skill("review", "How we review", "Look twice.");
    house.task(&[load("review")]);
    assert_eq!(house.agent.run(["skills", "archive", "review"]).code, 0);
    house.task(&[]);
    assert_eq!(house.agent.run(["skills", "restore", "review"]).code, 0);
    house.task(&[]);
    let expected = entries([
        ("lifecycle.count installed installed", 1),
        ("lifecycle.count patched installed", 1),
        ("lifecycle.count archived installed", 1),
        ("lifecycle.count restored installed", 1),
        ("load.count not_applicable installed first_use 1", 1),
        ("load.count no_new_patch installed reused 2", 1),
        ("load.count reused_after_patch installed reused 3_to_5", 1),
    ]);
    assert_eq!(counted(&house.agent), expected);
    let usage = fs::read_to_string(house.agent.home().join("skills/.usage.json")).unwrap();
    let usage: Value = serde_json::from_str(&usage).unwrap();
    let record = &usage["skills"]["review"];
    assert_eq!((&record["uses"], &record["edits"]), (&json!(3), &json!(1)), "{usage}");
    assert_eq!(record["state"], "active");
}

#[test]
fn manual_skills_count_once_and_file_changes_as_edits() {
    let house = SkillFixture::new();
    assert_eq!(house.agent.run(["metrics", "on"]).code, 0);
    house.skill("mine", "Mine", "Look.");
    write_skill(&house.agent.work().join(".agent/skills"), "ours", "Ours", "Look.");
    house.task(&[]);
    house.task(&[load("ours"), load("mine")]);
    fs::write(house.agent.home().join("skills/mine/more.txt"), "x").unwrap();
    house.task(&[load("mine"), super::file("mine", "more.txt")]);
    let expected = entries([
        ("lifecycle.count created local", 1),
        ("lifecycle.count created external", 1),
        ("lifecycle.count edited local", 1),
        ("load.count not_applicable external first_use 1", 1),
        ("load.count not_applicable local first_use 1", 1),
        ("load.count reused_after_patch local reused 2", 1),
    ]);
    assert_eq!(counted(&house.agent), expected);
}

#[test]
fn an_unused_skill_becomes_stale_once() {
    let house = SkillFixture::new();
    assert_eq!(house.agent.run(["metrics", "on"]).code, 0);
    house.skill("mine", "Mine", "Look.");
    house.task(&[]);
    // The same file, as it would stand had the skill been seen in 1970.
    let path = house.agent.home().join("skills/.usage.json");
    let mut usage: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    usage["skills"]["mine"]["seen_ms"] = json!(1000);
    fs::write(&path, usage.to_string()).unwrap();
    house.task(&[]);
    house.task(&[]);
    let expected =
        entries([("lifecycle.count created local", 1), ("lifecycle.count stale local", 1)]);
    assert_eq!(counted(&house.agent), expected);
    let listed = house.agent.run(["skills", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["skills"][0]["state"], "stale");
    house.task(&[load("mine")]);
    let listed = house.agent.run(["skills", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["skills"][0]["state"], "active");
}

#[test]
fn with_metrics_off_uses_are_recorded_but_not_counted() {
    let house = SkillFixture::new();
    house.skill("mine", "Mine", "Look.");
    house.task(&[load("mine")]);
    assert!(!house.agent.home().join("metrics").exists());
    let listed = house.agent.run(["skills", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["skills"][0]["uses"], 1);
}

#[test]
fn skill_loads_count_as_tool_calls_of_their_category() {
    let house = SkillFixture::new();
    assert_eq!(house.agent.run(["metrics", "on"]).code, 0);
    house.skill("mine", "Mine", "Look.");
    house.task(&[load("mine"), load("none")]);
    let run = house.agent.run(["metrics", "show", "--all"]);
    let mut calls = BTreeMap::new();
    for package in serde_json::Deserializer::from_str(&run.stdout).into_iter::<Value>() {
        for entry in package.unwrap()["metrics"].as_array().unwrap() {
            if entry["name"] == "agent.tool_call.count" {
                let dimensions = &entry["dimensions"];
                let key =
                    (dimensions["tool_category"].to_string(), dimensions["outcome"].to_string());
                *calls.entry(key).or_default() += entry["value"].as_u64().unwrap();
            }
        }
    }
    let key = |outcome: &str| ("\"skill\"".to_owned(), format!("\"{outcome}\""));
    assert_eq!(calls, BTreeMap::from([(key("success"), 1), (key("failed"), 1)]));
}
