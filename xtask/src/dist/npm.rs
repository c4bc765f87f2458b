//! The npm package: the binary as the `bin` entry. npm links it without a wrapper in JavaScript.

use serde_json::json;

use super::Artifact;
use super::file_tree::{FileTree, gzip};
use super::release::{DESCRIPTION, LICENCE, LICENCES, Release};
use crate::failure::Result;

pub(super) fn build(release: &Release) -> Result<Artifact> {
    let Release { version, platform, .. } = release;
    let manifest = json!({
        "name": "agent",
        "version": version,
        "description": DESCRIPTION,
        "license": LICENCE,
        "bin": { "agent": "bin/agent" },
        "os": ["linux"],
        "cpu": [platform.npm],
        "libc": ["glibc"],
    });
    let mut tree = FileTree::default();
    tree.program("package/bin/agent", release.binary.bytes.clone());
    tree.file("package/package.json", format!("{manifest:#}\n"));
    for name in LICENCES.iter().chain(&["README.md"]) {
        tree.file(format!("package/{name}"), release.source(name)?);
    }
    let name = format!("agent-{version}-linux-{}.tgz", platform.npm);
    Ok(Artifact { name, bytes: gzip(&tree.tar(release.epoch)?)? })
}
