//! Tests of `setup`.

use super::*;

fn requirement(name: &str) -> &'static Requirement {
    REQUIREMENTS.iter().find(|requirement| requirement.name == name).unwrap()
}

#[test]
fn without_root_the_exact_command_is_printed() {
    let missing =
        [requirement("chromium"), requirement("cargo-nextest"), requirement("chromedriver")];
    let text = check_apt_access(&missing, AptAccess::NotRoot).unwrap_err().to_string();
    assert_eq!(
        text,
        "error: missing on this machine: chromium, chromedriver\n\
             hint: run `sudo apt-get update && sudo apt-get install -y \
             --no-install-recommends chromium-headless-shell chromium-driver`"
    );
}

#[test]
fn without_apt_the_packages_are_named() {
    let missing = [requirement("g++")];
    let text = check_apt_access(&missing, AptAccess::Absent).unwrap_err().to_string();
    assert!(text.contains("no apt-get here") && text.ends_with("g++"), "{text}");
    assert!(check_apt_access(&missing, AptAccess::Root).is_ok());
}

#[test]
fn without_node_its_packages_are_named() {
    let missing =
        [requirement("node and npm"), requirement("the MCP servers of the TypeScript SDK")];
    let text = check_apt_access(&missing, AptAccess::NotRoot).unwrap_err().to_string();
    assert!(text.starts_with("error: missing on this machine: node and npm\n"), "{text}");
    assert!(text.ends_with("nodejs npm`"), "{text}");
}

#[test]
fn second_recipe_is_tried_when_the_first_fails() {
    let line = |word: &str| vec![vec![word.to_owned()]];
    assert!(run_first_working(&[line("false"), line("true")]).is_ok());
    assert!(run_first_working(&[line("true"), line("false")]).is_ok());
    let failure = run_first_working(&[line("false"), line("no-such-program")]).unwrap_err();
    assert!(failure.to_string().contains("no-such-program"), "{failure}");
}

#[test]
fn failed_optional_requirement_is_ignored() {
    let broken = || Failure::work("pip is not there");
    assert!(
        ignore_if_optional(requirement("the JSON Schema validator of Python"), broken()).is_ok()
    );
    assert!(ignore_if_optional(requirement("cargo-nextest"), broken()).is_err());
}
