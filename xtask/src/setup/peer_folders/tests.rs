//! Tests of `peer_folders`.

use super::*;

#[test]
fn node_package_must_have_its_exact_version() {
    let root = tempfile::tempdir().unwrap();
    let package = root.path().join("npm/node_modules/@scope/name");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("package.json"), "{\n  \"version\": \"1.2.3\"\n}").unwrap();
    let peers = PeerFolders::under(root.path().to_owned());
    assert!(peers.has_node_packages("npm", &["@scope/name@1.2.3"]));
    assert!(!peers.has_node_packages("npm", &["@scope/name@1.2.4"]));
    assert!(!peers.has_node_packages("npm", &["@scope/name@1.2.3", "absent@1.0.0"]));
    assert!(!peers.has_node_packages("other", &["@scope/name@1.2.3"]));
}

#[test]
fn python_package_must_have_its_exact_version() {
    let root = tempfile::tempdir().unwrap();
    let about = root.path().join("python/site/thing-1.2.dist-info");
    fs::create_dir_all(&about).unwrap();
    let metadata = "Metadata-Version: 2.1\nName: thing\nVersion: 1.2\n";
    fs::write(about.join("METADATA"), metadata).unwrap();
    let peers = PeerFolders::under(root.path().to_owned());
    assert!(peers.has_python_packages("python", &["thing==1.2"]));
    assert!(!peers.has_python_packages("python", &["thing==1.3"]));
    assert!(!peers.has_python_packages("python", &["thing==1.2", "absent==1.0"]));
    assert!(!peers.has_python_packages("other", &["thing==1.2"]));
}

#[test]
fn without_environments_packages_go_into_one_folder() {
    let peers = PeerFolders::under("/w".into());
    let recipes = peers.venv_recipes("python", &["mcp==2.3.0"]);
    assert_eq!(
        recipes[1][0].join(" "),
        "python3 -m pip install --quiet --target /w/python/site mcp==2.3.0"
    );
}
