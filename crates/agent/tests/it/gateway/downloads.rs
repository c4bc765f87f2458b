//! Files that everybody may download, published and taken.

use std::fs;

use wire::download::{Manifest, read_public_key};

use super::Fixture;

#[test]
fn files_are_published_and_verified_with_the_public_key() {
    let fixture = Fixture::new();
    let refused = fixture.run(["downloads", "key"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.stderr.contains("add `downloads: {}` to the configuration"), "{refused:?}");
    fixture.configure("downloads: {}\n");
    let program = fixture.agent.work().join("agent-linux-x86_64");
    fs::write(&program, "the program").unwrap();
    let file = program.to_str().unwrap();
    let early = fixture.run(["downloads", "publish", "--version", "1.0.0", file]);
    assert!(
        early.code != 0 && early.stderr.contains("create one with `agent gateway downloads key`"),
        "{early:?}"
    );

    let made = fixture.run(["downloads", "key"]);
    assert_eq!(made.code, 0, "{made:?}");
    let public = read_public_key(&made.stdout).unwrap();
    assert_eq!(fixture.run(["downloads", "key", "--show"]).stdout, made.stdout);
    assert_ne!(fixture.run(["downloads", "key"]).code, 0, "a key is not overwritten");
    let published = fixture.json(["downloads", "publish", "--version", "1.0.0", file]);
    let published: Manifest = serde_json::from_value(published).unwrap();
    assert_eq!(published.verify(&public), Ok(()));

    let served = fixture.serve();
    let (status, body) = served.ask("GET", "/v1/downloads/manifest.json", "", "");
    let manifest: Manifest = serde_json::from_str(&body).unwrap();
    assert_eq!((status, manifest.verify(&public)), (200, Ok(())));
    let (status, body) = served.ask("GET", "/v1/downloads/1.0.0/agent-linux-x86_64", "", "");
    assert_eq!((status, body.as_str()), (200, "the program"));
    fs::write(&program, "another program").unwrap();
    let changed = fixture.run(["downloads", "publish", "--version", "1.0.0", file]);
    assert!(changed.stderr.contains("is already published with different content"), "{changed:?}");
}
