//! The Debian package: the program, and the member service as a systemd unit.
//!
//! `dpkg-deb` builds it from the control files in `packaging/debian`. `cargo-deb` does no more for
//! one binary that brings no shared libraries, and takes minutes to compile on a fresh machine.

use std::process::Command;

use super::file_tree::FileTree;
use super::release::{LICENCES, Release, SHELLS};
use super::{Artifact, read};
use crate::failure::{OrFail, Result};
use crate::process;

const CONFIGURATION: &str = "etc/agent/gateway.yaml";

pub(super) fn build(release: &Release) -> Result<Artifact> {
    let mut tree = FileTree::default();
    tree.program("usr/bin/agent", release.binary.bytes.clone());
    tree.file(CONFIGURATION, release.source("packaging/gateway.yaml")?);
    let unit = "usr/lib/systemd/system/agent-gateway.service";
    tree.file(unit, release.source("packaging/agent-gateway.service")?);
    for name in LICENCES {
        tree.file(format!("usr/share/doc/agent/{name}"), release.source(name)?);
    }
    let copyright = b"Licence: MIT or Apache-2.0; see the LICENSE files in this folder.\n";
    tree.file("usr/share/doc/agent/copyright", *copyright);
    for (name, page) in &release.man_pages {
        tree.file(format!("usr/share/man/man1/{name}"), page.clone());
    }
    for ((_, _, path), script) in SHELLS.iter().zip(&release.completions) {
        tree.file(format!("usr/share/{path}"), script.clone());
    }
    add_control_files(&mut tree, release)?;

    let stage = tempfile::tempdir().or_fail("cannot create a temporary folder")?;
    let root = stage.path().join("root");
    tree.write_to(&root)?;
    let name = format!("agent_{}-1_{}.deb", release.version, release.platform.debian);
    let package = stage.path().join(&name);
    process::capture(
        Command::new("dpkg-deb")
            .args(["--build", "--root-owner-group", "-Zgzip", "-z6"])
            .args([&root, &package])
            .env("SOURCE_DATE_EPOCH", release.epoch.to_string()),
    )?;
    Ok(Artifact { name, bytes: read(&package)? })
}

fn add_control_files(tree: &mut FileTree, release: &Release) -> Result {
    let (major, minor) = release.binary.glibc;
    let kibibytes = tree.total_bytes().div_ceil(1024).to_string();
    let values = [
        ("@VERSION@", release.version.as_str()),
        ("@ARCHITECTURE@", release.platform.debian),
        ("@KIBIBYTES@", &kibibytes),
        ("@GLIBC@", &format!("{major}.{minor}")),
    ];
    tree.file("DEBIAN/control", release.template("packaging/debian/control", &values)?);
    tree.file("DEBIAN/conffiles", format!("/{CONFIGURATION}\n"));
    for script in ["postinst", "prerm", "postrm"] {
        let text = release.source(&format!("packaging/debian/{script}"))?;
        tree.program(format!("DEBIAN/{script}"), text);
    }
    Ok(())
}
