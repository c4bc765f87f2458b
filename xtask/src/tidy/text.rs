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
        Content::Binary if is_picture(path) => {}
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

fn is_picture(path: &str) -> bool {
    path.starts_with("docs/") && has_extension(path, "png")
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
mod tests {
    use super::*;
    use crate::tidy::finding::printed;

    fn findings(path: &str, text: &str) -> Vec<String> {
        printed(&check(&Tree::of(&[(path, text)])))
    }

    #[test]
    fn ordinary_text_has_no_findings() {
        let text = "See https://www.rust-lang.org and the crates folder.\n";
        assert_eq!(findings("README.md", text), Vec::<String>::new());
    }

    #[test]
    fn every_registry_host_is_found_with_its_line() {
        for host in REGISTRY_HOSTS {
            let found = findings("ci.yaml", &format!("one\nurl: https://{host}/x\n"));
            assert_eq!(found, [format!("ci.yaml:2: `{host}` is the host of a package registry")]);
        }
    }

    #[test]
    fn cargo_lock_may_name_only_the_standard_index() {
        let text = format!("[[package]]\nsource = {STANDARD_INDEX}\n");
        assert_eq!(findings("Cargo.lock", &text), Vec::<String>::new());
        assert_eq!(
            findings("Cargo.lock", &format!("{text}[[package]]\nsource = \"git+x\"\n")),
            ["Cargo.lock:4: \"git+x\" is not the standard index"]
        );
    }

    #[test]
    fn npm_lock_files_are_found_only_with_urls() {
        let npm = "{\n  \"resolved\": \"x\"\n}\n";
        assert_eq!(
            findings("web/package-lock.json", npm),
            ["web/package-lock.json:2: a lock file with 1 download addresses"]
        );
        assert_eq!(findings("web/package-lock.json", "{}\n"), Vec::<String>::new());
    }

    #[test]
    fn large_files_are_found() {
        assert!(findings("a.txt", &"x".repeat(MAX_FILE_BYTES)).is_empty());
        let found = findings("a.txt", &"x".repeat(MAX_FILE_BYTES + 1));
        assert_eq!(found, ["a.txt:1: 1048577 bytes, more than 1048576"]);
    }

    #[test]
    fn binary_files_are_found_except_images_of_documents() {
        assert_eq!(findings("tool", "\0"), ["tool:1: a binary file; only docs/*.png may be one"]);
        assert_eq!(findings("logo.png", "\0").len(), 1);
        assert!(findings("docs/console.png", "\0").is_empty());
    }
}
