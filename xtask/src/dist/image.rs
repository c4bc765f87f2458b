//! The container image as an OCI archive, and the folder from which `Containerfile` builds it.
//!
//! The archive is a tar file with one compressed layer and three JSON documents. Written here, it is
//! equal for equal input and needs no container tool. The C library and the certificates come from
//! packages of the build machine; certificates that its administrator added are left out.

use std::path::Path;

use serde_json::{Value, json};

use super::file_tree::{FileTree, gzip};
use super::release::Release;
use super::{Artifact, read, sha256, sorted_files, write};
use crate::failure::Result;
use crate::workspace::create_empty;

/// The user of the image, the same number as `USER` in the Containerfile.
const USER: u64 = 65532;
const CONTAINERFILE: &str = "packaging/Containerfile";
/// Mozilla's certificates as Debian installs them.
const CERTIFICATES: &str = "/usr/share/ca-certificates/mozilla";
const LIBRARY_LICENCES: &[&str] =
    &["/usr/share/doc/libc6/copyright", "/usr/share/doc/libgcc-s1/copyright"];
const OCI: &str = "application/vnd.oci.image";

pub(super) fn build(release: &Release) -> Result<Artifact> {
    let root = root_tree(release)?.tar(release.epoch)?;
    let mut archive = FileTree::default();
    let layer = add_blob(&mut archive, "layer.v1.tar+gzip", gzip(&root)?);
    let config = json!({
        "created": release.timestamp,
        "architecture": release.platform.debian,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "ExposedPorts": { "8930/tcp": {} },
            "Env": ["PATH=/usr/bin", "AGENT_HOME=/data", "AGENT_INSTALL_METHOD=docker"],
            "Entrypoint": ["/usr/bin/agent"],
            "Cmd": ["up", "--listen", "0.0.0.0:8930"],
            "Volumes": { "/data": {} },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", sha256(&root))] },
        "history": [{ "created": release.timestamp, "created_by": "cargo xtask dist" }],
    });
    let config = add_blob(&mut archive, "config.v1+json", config.to_string().into_bytes());
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": format!("{OCI}.manifest.v1+json"),
        "config": config,
        "layers": [layer],
    });
    let bytes = manifest.to_string().into_bytes();
    let mut manifest = add_blob(&mut archive, "manifest.v1+json", bytes);
    let name = format!("localhost/agent:{}", release.version);
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": name });
    archive.file("index.json", json!({ "schemaVersion": 2, "manifests": [manifest] }).to_string());
    archive.file("oci-layout", json!({ "imageLayoutVersion": "1.0.0" }).to_string());
    let name = format!("agent-{}-{}-oci.tar", release.version, release.platform.machine);
    Ok(Artifact { name, bytes: archive.tar(release.epoch)? })
}

/// Writes the folder that `buildah build` and `docker build` take.
pub(super) fn write_context(release: &Release, folder: &Path) -> Result {
    create_empty(folder)?;
    let root = root_tree(release)?.tar(release.epoch)?;
    write(&folder.join("rootfs.tar.gz"), &gzip(&root)?)?;
    write(&folder.join("Containerfile"), &release.source(CONTAINERFILE)?)
}

fn add_blob(archive: &mut FileTree, kind: &str, bytes: Vec<u8>) -> Value {
    let digest = sha256(&bytes);
    let descriptor = json!({
        "mediaType": format!("{OCI}.{kind}"),
        "digest": format!("sha256:{digest}"),
        "size": bytes.len(),
    });
    archive.file(format!("blobs/sha256/{digest}"), bytes);
    descriptor
}

fn root_tree(release: &Release) -> Result<FileTree> {
    let mut tree = FileTree::default();
    tree.program("usr/bin/agent", release.binary.bytes.clone());
    for library in release.binary.libraries()? {
        tree.program(relative(&library), read(&library)?);
    }
    tree.file("etc/ssl/certs/ca-certificates.crt", certificates()?);
    tree.file("etc/passwd", format!("agent:x:{USER}:{USER}::/data:/sbin/nologin\n"));
    tree.file("etc/group", format!("agent:x:{USER}:\n"));
    tree.file("etc/nsswitch.conf", "hosts: files dns\n");
    tree.folder("tmp", 0o1777, 0);
    tree.folder("data", 0o700, USER);
    for path in LIBRARY_LICENCES.iter().map(Path::new).filter(|path| path.exists()) {
        tree.file(relative(path), read(path)?);
    }
    for name in super::release::LICENCES {
        tree.file(format!("usr/share/doc/agent/{name}"), release.source(name)?);
    }
    Ok(tree)
}

fn relative(path: &Path) -> String {
    path.to_string_lossy().trim_start_matches('/').to_owned()
}

fn certificates() -> Result<Vec<u8>> {
    let paths = sorted_files(Path::new(CERTIFICATES))
        .map_err(|failure| failure.with_hint("install the package ca-certificates"))?;
    let texts: Result<Vec<Vec<u8>>> = paths.iter().map(|path| read(path)).collect();
    Ok(texts?.concat())
}
