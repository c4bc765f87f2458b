//! Publishing of signed files for download.
//!
//! The folder has a folder for each version, with its files and their manifest, and `manifest.json`
//! of the newest version. Files are written before their manifest and moved into place atomically, so
//! that readers see the old or the new state. The files of a version never change.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use sha2::{Digest, Sha256};
use wire::download::{self, Manifest};

use crate::config::Downloads;
use crate::identity::hex;
use crate::problem::Problem;

/// The manifest of the newest version.
pub(crate) const MANIFEST: &str = "manifest.json";
/// The manifest of one version, in its folder; no file can have this name.
pub(crate) const OF_VERSION: &str = ".manifest.json";
pub(crate) const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;
pub(crate) const MEDIA_TYPE: &str = "application/octet-stream";

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

#[derive(Debug, Clone)]
pub struct Publication {
    pub version: String,
    /// The time of publication, as RFC 3339.
    pub published_at: String,
    /// When the manifest expires, as RFC 3339.
    pub expires_at: String,
    /// The files; without any, the manifest of the version is signed again.
    pub files: Vec<PathBuf>,
    /// Their platform; default: derived from the file names.
    pub platform: Option<String>,
}

/// Creates a private key file and returns the public key. An existing file is not overwritten.
pub fn make_key(path: &Path) -> Result<String, Problem> {
    let failed = |what: String| Problem::new(format!("cannot create {}: {what}", path.display()));
    let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
    let key = key.map_err(|_| failed("the system returned no random bytes".to_owned()))?;
    let text = format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode(key.as_ref()));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = file.map_err(|error| failed(error.to_string()))?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|error| failed(error.to_string()))?;
    Ok(public_key(&load_key(path)?))
}

/// The public key of a key file, in base64.
pub fn show_key(path: &Path) -> Result<String, Problem> {
    load_key(path).map(|key| public_key(&key))
}

fn public_key(key: &Ed25519KeyPair) -> String {
    STANDARD.encode(key.public_key())
}

fn load_key(path: &Path) -> Result<Ed25519KeyPair, Problem> {
    let text = fs::read_to_string(path).map_err(|error| {
        Problem::new(format!("cannot read the key {}: {error}", path.display()))
            .hint("create one with `agent gateway downloads key`")
    })?;
    let inside = text.trim().strip_prefix(BEGIN).and_then(|text| text.strip_suffix(END));
    let digits: Option<String> = inside.map(|text| text.split_whitespace().collect());
    let bytes = digits.and_then(|digits| STANDARD.decode(digits).ok());
    let key = bytes.and_then(|bytes| Ed25519KeyPair::from_pkcs8_maybe_unchecked(&bytes).ok());
    key.ok_or_else(|| {
        Problem::new(format!("{} is not an Ed25519 key in PEM format", path.display()))
    })
}

/// Publishes files. Earlier files of the same version stay in the manifest.
pub fn publish(downloads: &Downloads, publication: &Publication) -> Result<Manifest, Problem> {
    let key = load_key(&downloads.key_file)?;
    let version = publication.version.as_str();
    if !download::is_name(version) {
        let message = format!("invalid version `{version}`");
        return Err(Problem::new(message).hint("use letters, digits and the characters `._+-`"));
    }
    let mut files = before(downloads, version, &key)?;
    if files.is_empty() && publication.files.is_empty() {
        return Err(Problem::new(format!("no files are published for version {version}"))
            .hint("name the files to publish"));
    }
    let folder = downloads.folder.join(version);
    fs::create_dir_all(&folder).map_err(|error| broken(&folder, &error))?;
    for path in &publication.files {
        let file = download_file(path, &folder, publication.platform.as_deref())?;
        files.retain(|known| known.name != file.name);
        files.push(file);
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    let mut manifest = Manifest {
        version: version.to_owned(),
        published_at: publication.published_at.clone(),
        expires_at: publication.expires_at.clone(),
        files,
        signature: String::new(),
    };
    let bytes = manifest.signed_bytes().map_err(|unfit| Problem::new(unfit.to_string()))?;
    manifest.signature = STANDARD.encode(key.sign(&bytes));
    let text = serde_json::to_vec_pretty(&manifest).unwrap_or_default();
    write_whole(&folder.join(OF_VERSION), |file| file.write_all(&text))?;
    write_whole(&downloads.folder.join(MANIFEST), |file| file.write_all(&text))?;
    Ok(manifest)
}

/// The published manifest of this version, which must be signed by us.
fn before(
    downloads: &Downloads,
    version: &str,
    key: &Ed25519KeyPair,
) -> Result<Vec<download::File>, Problem> {
    let path = downloads.folder.join(version).join(OF_VERSION);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(broken(&path, &error)),
    };
    let wrong = |why: String| {
        Problem::new(format!("cannot add to {}: {why}", path.display()))
            .hint("find out who changed it, or remove it to publish again")
    };
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    let public = key.public_key().as_ref().try_into().unwrap_or_default();
    manifest.verify(&public).map_err(|unfit| wrong(unfit.to_string()))?;
    Ok(manifest.files)
}

fn download_file(
    path: &Path,
    folder: &Path,
    platform: Option<&str>,
) -> Result<download::File, Problem> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !download::is_name(name) {
        let message = format!("`{}` is not a valid download name", path.display());
        return Err(Problem::new(message).hint("use letters, digits and the characters `._+-`"));
    }
    let (bytes, digest) = measure(path).map_err(|error| broken(path, &error))?;
    let target = folder.join(name);
    match measure(&target) {
        Ok(known) if known == (bytes, digest) => {}
        Ok(_) => {
            let message =
                format!("{} is already published with different content", target.display());
            return Err(
                Problem::new(message).hint("published files cannot change; use a new version")
            );
        }
        Err(_) => {
            write_whole(&target, |file| io::copy(&mut File::open(path)?, file).map(drop))?;
            // Another process may have written it meanwhile.
            if measure(&target).ok() != Some((bytes, digest)) {
                let _ = fs::remove_file(&target);
                return Err(Problem::new(format!(
                    "{} changed while it was copied",
                    path.display()
                )));
            }
        }
    }
    Ok(download::File {
        name: name.to_owned(),
        platform: platform.map_or_else(|| platform_of(name), str::to_owned),
        url: String::new(),
        bytes,
        sha256: hex(&digest),
        media_type: MEDIA_TYPE.to_owned(),
    })
}

fn platform_of(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let system = if has(&["linux"]) {
        "linux"
    } else if has(&["darwin", "macos", "apple"]) {
        "macos"
    } else if has(&["windows", "win32", "win64", ".exe"]) {
        "windows"
    } else {
        return "any".to_owned();
    };
    if has(&["x86_64", "amd64", "x64"]) {
        format!("{system}-x86_64")
    } else if has(&["aarch64", "arm64"]) {
        format!("{system}-aarch64")
    } else {
        system.to_owned()
    }
}

fn measure(path: &Path) -> io::Result<(u64, [u8; 32])> {
    let mut file = File::open(path)?;
    let (mut digest, mut count) = (Sha256::new(), 0);
    let mut piece = vec![0; 64 * 1024];
    loop {
        let length = file.read(&mut piece)?;
        if length == 0 {
            return Ok((count, digest.finalize().into()));
        }
        count += length as u64;
        digest.update(&piece[..length]);
    }
}

/// Writes a temporary file, and moves it into place when it is durable.
fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), Problem> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let beside = path.with_file_name(format!(".{name}.{:016x}", fastrand::u64(..)));
    let made = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
        write(&mut file)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    })();
    made.map_err(|error| {
        let _ = fs::remove_file(&beside);
        broken(path, &error)
    })
}

fn broken(path: &Path, error: &io::Error) -> Problem {
    Problem::new(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
