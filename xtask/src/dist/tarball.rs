//! The tarball: the binary, man pages, completions and licences in one folder.

use super::Artifact;
use super::file_tree::{FileTree, gzip};
use super::release::{LICENCES, Release, SHELLS};
use crate::failure::Result;

pub(super) fn build(release: &Release) -> Result<Artifact> {
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
