//! Files that everybody may download, published and taken.

use std::fs;

use wire::download::{Manifest, read_public_key};

use super::Ground;

#[test]
fn files_are_published_and_verified_with_the_public_key() {
    let ground = Ground::new();
    let refused = ground.run(["downloads", "key"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.stderr.contains("add `downloads: {}` to the configuration"), "{refused:?}");
    ground.configure("downloads: {}\n");
    let program = ground.bench.work().join("agent-linux-x86_64");
    fs::write(&program, "the program").unwrap();
    let file = program.to_str().unwrap();
    let early = ground.run(["downloads", "publish", "--version", "1.0.0", file]);
    assert!(
        early.code != 0 && early.stderr.contains("create one with `agent gateway downloads key`"),
        "{early:?}"
    );

    let made = ground.run(["downloads", "key"]);
    assert_eq!(made.code, 0, "{made:?}");
    let public = read_public_key(&made.stdout).unwrap();
    assert_eq!(ground.run(["downloads", "key", "--show"]).stdout, made.stdout);
    assert_ne!(ground.run(["downloads", "key"]).code, 0, "a key is not overwritten");
    let published = ground.json(["downloads", "publish", "--version", "1.0.0", file]);
    let published: Manifest = serde_json::from_value(published).unwrap();
    assert_eq!(published.verify(&public), Ok(()));

    let served = ground.serve();
    let (status, body) = served.ask("GET", "/v1/downloads/manifest.json", "", "");
    let manifest: Manifest = serde_json::from_str(&body).unwrap();
    assert_eq!((status, manifest.verify(&public)), (200, Ok(())));
    let (status, body) = served.ask("GET", "/v1/downloads/1.0.0/agent-linux-x86_64", "", "");
    assert_eq!((status, body.as_str()), (200, "the program"));
    fs::write(&program, "another program").unwrap();
    let changed = ground.run(["downloads", "publish", "--version", "1.0.0", file]);
    assert!(changed.stderr.contains("is already published with different content"), "{changed:?}");
}
