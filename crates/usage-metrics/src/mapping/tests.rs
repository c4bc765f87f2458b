//! Laws that hold for every word, whatever it is mapped to.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::catalogue::{InstallMethod, ProviderFamily};

/// What every function that takes a word makes of it, in a form that can be compared.
fn everything(word: &str) -> String {
    let given = Some(word);
    let values: [&dyn std::fmt::Debug; 10] = [
        &resource::os_family(word),
        &resource::architecture(word),
        &resource::install_method(word),
        &route::model(given, None),
        &route::provider(given),
        &model::family(given, None),
        &provider::family(given),
        &locality::of(given, ProviderFamily::Direct),
        &skill::action(word),
        &(skill::state_change(word, "active"), skill::state_change("active", word)),
    ];
    values.map(|value| format!("{value:?}")).join("\n")
}

/// Words that are near the ones in the lists, and words that are not.
fn word() -> impl Strategy<Value = String> {
    let near = proptest::sample::select(vec![
        "darwin", "x86-64", "armv7l", "nix", "gpt-4o", "o10", "custom:", "ollama", "openrouter",
        "localhost", "127.0.0.1", "[fe80::1%eth0]", "::1", "unknown", "patch", "archived", "stale",
        "active",
    ]);
    prop_oneof![
        "[ -~]{0,40}",
        ".{0,20}",
        (near.clone(), "[-_./:a-z0-9]{0,3}").prop_map(|(word, tail)| format!("{word}{tail}")),
        (near, "[ -~]{0,3}").prop_map(|(word, head)| format!("{head}{word}")),
    ]
}

/// Paths made of the directory names that mean something, and of others.
fn path() -> impl Strategy<Value = String> {
    let roots = ["", "/", "/usr/bin", "/usr/lib", "/opt/homebrew", "/nix/store", "/home/ann"];
    let names = [
        "bin", "Cellar", "target", "debug", "release", "venv", "venvs", "site-packages",
        "dist-packages", "home-manager", ".nix-profile", "agent", "..", "",
    ];
    let names = proptest::collection::vec(
        proptest::sample::select(names.to_vec()).prop_map(str::to_owned),
        0..6,
    );
    (proptest::sample::select(roots.to_vec()).prop_map(str::to_owned), names)
        .prop_map(|(root, names)| format!("{root}/{}", names.join("/")))
}

proptest! {
    #[test]
    fn surrounding_space_and_case_are_ignored(word in word()) {
        let dressed = format!(" \t{}\n", word.to_ascii_uppercase());
        prop_assert_eq!(everything(&dressed), everything(&word));
    }

    #[test]
    fn missing_and_empty_words_are_equal(space in "[ \t\n]{0,3}") {
        let space = Some(space.as_str());
        prop_assert_eq!(provider::family(space), provider::family(None));
        prop_assert_eq!(
            locality::of(space, ProviderFamily::Custom),
            locality::of(None, ProviderFamily::Custom)
        );
    }

    #[test]
    fn version_always_fits_the_package(raw in ".{0,80}") {
        let version = resource::version(&raw);
        prop_assert!((1..=64).contains(&version.chars().count()));
    }

    #[test]
    fn container_changes_only_unproven_installations(path in path()) {
        let outside = resource::InstallFacts {
            executable: Some(Path::new(&path)),
            ..Default::default()
        };
        let inside = resource::InstallFacts { in_container: true, ..outside };
        let expected = match resource::detect_install_method(&outside) {
            InstallMethod::Apt | InstallMethod::Unknown => InstallMethod::Docker,
            proved => proved,
        };
        prop_assert_eq!(resource::detect_install_method(&inside), expected);
    }
}

#[test]
fn normalising_copies_only_changed_text() {
    assert!(matches!(normalise("  gpt-4o \n"), Cow::Borrowed("gpt-4o")));
    assert!(matches!(normalise(""), Cow::Borrowed("")));
    assert_eq!(normalise(" GPT-4o "), Cow::<str>::Owned("gpt-4o".to_owned()));
    assert_eq!(normalise("\u{a0}ÄÖ\u{3000}"), "äö");
}
