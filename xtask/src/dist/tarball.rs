//! The gzipped tarballs: one to unpack by hand, and the npm package.

use serde_json::json;

use super::Artifact;
use super::file_tree::{FileTree, gzip};
use super::release::{DESCRIPTION, LICENCE, LICENCES, Release, SHELLS};
use crate::failure::Result;

/// The binary, man pages, completions and licences in one folder.
pub(super) fn plain(release: &Release) -> Result<Artifact> {
    let stem = release.stem();
    let mut tree = FileTree::default();
    tree.program(format!("{stem}/agent"), release.binary.bytes.clone());
    for name in LICENCES.iter().chain(&["README.md"]) {
        tree.file(format!("{stem}/{name}"), release.source(name)?);
    }
    for (name, page) in &release.man_pages {
        tree.file(format!("{stem}/man/{name}"), page.clone());
    }
    for ((_, name, _), script) in SHELLS.iter().zip(&release.completions) {
        tree.file(format!("{stem}/completions/{name}"), script.clone());
    }
    Ok(Artifact { name: format!("{stem}.tar.gz"), bytes: gzip(&tree.tar(release.epoch)?)? })
}

/// The npm package: the binary as the `bin` entry. npm links it without a wrapper in JavaScript.
pub(super) fn npm_package(release: &Release) -> Result<Artifact> {
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
