//! Rule: no file is too large, binary, or names a package registry.

use super::finding::Finding;
use super::tree::{Content, File, Tree, has_extension};

const MAX_FILE_BYTES: usize = 1024 * 1024;

/// Hosts of package registries, split so that this file does not contain them.
const REGISTRY_HOSTS: &[&str] = &[
    concat!("crates", ".io"),
    concat!("registry.npm", "js.org"),
    concat!("py", "pi.org"),
    concat!("files.python", "hosted.org"),
    concat!("deb.deb", "ian.org"),
];

/// The only source that `Cargo.lock` may name.
const STANDARD_INDEX: &str =
    concat!("\"registry+https://github.com/rust-lang/crates", ".io-index\"");

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files().flat_map(|(path, file)| check_file(path, file)).collect()
}

fn check_file(path: &str, file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    if file.size_bytes > MAX_FILE_BYTES {
        let message = format!("{} bytes, more than {MAX_FILE_BYTES}", file.size_bytes);
        findings.push(Finding::new(path, 1, message));
    }
    match &file.content {
        Content::Binary if path.starts_with("docs/") && has_extension(path, "png") => {}
        Content::Binary => {
            findings.push(Finding::new(path, 1, "a binary file; only docs/*.png may be one"));
        }
        Content::Text(text) => findings.extend(match path.rsplit('/').next() {
            Some("Cargo.lock") => check_cargo_lock(path, text),
            Some("package-lock.json") => check_npm_lock(path, text),
            _ => check_hosts(path, text),
        }),
    }
    findings
}

/// Other sources would not resolve on another machine.
fn check_cargo_lock(path: &str, text: &str) -> Vec<Finding> {
    numbered_lines(text)
        .filter_map(|(number, line)| {
            let source =
                line.strip_prefix("source = ").filter(|source| *source != STANDARD_INDEX)?;
            Some(Finding::new(path, number, format!("{source} is not the standard index")))
        })
        .collect()
}

/// One finding for the whole file, which has a URL for each package.
fn check_npm_lock(path: &str, text: &str) -> Vec<Finding> {
    let mut lines = numbered_lines(text).filter(|(_, line)| line.starts_with("\"resolved\":"));
    let Some((first, _)) = lines.next() else { return Vec::new() };
    let count = 1 + lines.count();
    vec![Finding::new(path, first, format!("a lock file with {count} download addresses"))]
}

fn numbered_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines().map(str::trim_start))
}

fn check_hosts(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for host in REGISTRY_HOSTS {
            if line.contains(host) {
                let message = format!("`{host}` is the host of a package registry");
                findings.push(Finding::new(path, index + 1, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests;
