//! The Python wheel: the binary as a script, which pip, pipx and uv put on the PATH.

use std::io::{Cursor, Write};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{DateTime, ZipWriter};

use super::Artifact;
use super::file_tree::FileTree;
use super::release::{DESCRIPTION, LICENCE, LICENCES, Release};
use crate::failure::{OrFail, Result};

pub(super) fn build(release: &Release) -> Result<Artifact> {
    let version = &release.version;
    let (major, minor) = release.binary.glibc;
    let tag = format!("py3-none-manylinux_{major}_{minor}_{}", release.platform.machine);
    let info = format!("agent-{version}.dist-info");
    let mut tree = FileTree::default();
    tree.program(format!("agent-{version}.data/scripts/agent"), release.binary.bytes.clone());
    let mut about = format!(
        "Metadata-Version: 2.4\nName: agent\nVersion: {version}\nSummary: {DESCRIPTION}\n\
         License-Expression: {LICENCE}\nRequires-Python: >=3.8\n"
    );
    for name in LICENCES {
        about += &format!("License-File: {name}\n");
        tree.file(format!("{info}/licenses/{name}"), release.source(name)?);
    }
    tree.file(format!("{info}/METADATA"), about);
    let format =
        format!("Wheel-Version: 1.0\nGenerator: agent-xtask\nRoot-Is-Purelib: false\nTag: {tag}\n");
    tree.file(format!("{info}/WHEEL"), format);
    let record = format!("{info}/RECORD");
    let lines = tree.files().map(|(path, _, bytes)| {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(bytes));
        format!("{path},sha256={digest},{}\n", bytes.len())
    });
    let lines: String = lines.collect();
    tree.file(record.clone(), format!("{lines}{record},,\n"));
    Ok(Artifact { name: format!("agent-{version}-{tag}.whl"), bytes: zip(&tree)? })
}

/// A ZIP archive. All times are 1980, the earliest of the format, as in wheels of other tools.
pub(super) fn zip(tree: &FileTree) -> Result<Vec<u8>> {
    let failed = "cannot write the wheel";
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, mode, bytes) in tree.files() {
        let options = SimpleFileOptions::default()
            .last_modified_time(DateTime::default())
            .unix_permissions(mode);
        archive.start_file(path, options).or_fail(failed)?;
        archive.write_all(bytes).or_fail(failed)?;
    }
    Ok(archive.finish().or_fail(failed)?.into_inner())
}
