//! The resource block: operating system, architecture, version and installation method.
//!
//! The names are those of operating systems and build tools; the installation method is declared by
//! the packager or derived from the path of the executable.

use std::borrow::Cow;
use std::path::Path;

use super::{UNKNOWN, normalise};
use crate::catalogue::{Architecture, InstallMethod, MAX_VERSION_CHARS, OsFamily};

#[cfg(test)]
mod tests;

const NIX: &[&str] = &["/nix/store", "/run/current-system"];

/// Directories of Homebrew packages; Python packages inside came with the package.
const HOMEBREW_CELLARS: &[&str] =
    &["/opt/homebrew/Cellar", "/usr/local/Cellar", "/home/linuxbrew/.linuxbrew/Cellar"];

/// Homebrew prefixes into which its Python installs packages too.
const HOMEBREW_PREFIXES: &[&str] = &["/opt/homebrew", "/home/linuxbrew/.linuxbrew"];

const SYSTEM: &[&str] = &["/usr/bin", "/bin", "/usr/sbin", "/usr/lib"];

pub fn os_family(name: &str) -> OsFamily {
    match normalise(name).as_ref() {
        "darwin" => OsFamily::Macos,
        name => OsFamily::parse(name).unwrap_or(OsFamily::Unknown),
    }
}

/// The architecture with this name, in any of its usual spellings.
pub fn architecture(name: &str) -> Architecture {
    match normalise(name).as_ref() {
        // The only name with either `-` or `_`.
        "amd64" | "x64" | "x86_64" | "x86-64" => Architecture::X86_64,
        "aarch64" | "arm64" => Architecture::Arm64,
        "i386" | "i486" | "i586" | "i686" | "x86" => Architecture::X86,
        // Rust says `arm` for what a kernel calls `armv7l`.
        "arm" => Architecture::Arm,
        name if name.starts_with("armv") => Architecture::Arm,
        _ => Architecture::Unknown,
    }
}

pub fn install_method(name: &str) -> InstallMethod {
    match normalise(name).as_ref() {
        "nix" => InstallMethod::Nixos,
        name => InstallMethod::parse(name).unwrap_or(InstallMethod::Unknown),
    }
}

/// The trimmed version, or [`UNKNOWN`] if it is empty or longer than [`MAX_VERSION_CHARS`].
pub fn version(raw: &str) -> Cow<'_, str> {
    let version = raw.trim();
    let fits = !version.is_empty() && version.chars().nth(MAX_VERSION_CHARS).is_none();
    Cow::Borrowed(if fits { version } else { UNKNOWN })
}

#[derive(Debug, Clone, Copy, Default)]
pub struct InstallFacts<'a> {
    pub declared: Option<&'a str>,
    /// The path of the executable, with symbolic links resolved if possible.
    pub executable: Option<&'a Path>,
    pub in_container: bool,
}

/// Detects the installation method. The first match decides:
///
/// 1. a declared and listed method;
/// 2. the Nix store, where home-manager is distinguished;
/// 3. a Cargo build tree (`target/debug`, `target/release`, also with a target triple): git;
/// 4. a Nix profile of one user: home-manager;
/// 5. a Homebrew cellar, then a Python environment, then a Homebrew prefix: a Python package in the
///    cellar is part of a Homebrew package, elsewhere under the prefix it came with pip;
/// 6. a container: docker. It comes after the paths above, which are more specific, and before the
///    system directories, which images use too;
/// 7. the system directories: apt.
pub fn detect_install_method(facts: &InstallFacts<'_>) -> InstallMethod {
    let declared = facts.declared.map_or(InstallMethod::Unknown, install_method);
    if declared != InstallMethod::Unknown {
        return declared;
    }
    let place = facts.executable.unwrap_or(Path::new(""));
    let is_in_nix = is_under(place, NIX);
    let rules = [
        (is_in_nix && is_home_manager(place), InstallMethod::HomeManager),
        (is_in_nix, InstallMethod::Nixos),
        (is_build_tree(place), InstallMethod::Git),
        (is_home_manager(place), InstallMethod::HomeManager),
        (is_under(place, HOMEBREW_CELLARS), InstallMethod::Homebrew),
        (is_python_environment(place), InstallMethod::Pip),
        (is_under(place, HOMEBREW_PREFIXES), InstallMethod::Homebrew),
        (facts.in_container, InstallMethod::Docker),
        (is_under(place, SYSTEM), InstallMethod::Apt),
    ];
    let first = rules.into_iter().find(|(matches, _)| *matches);
    first.map_or(InstallMethod::Unknown, |(_, method)| method)
}

fn is_home_manager(place: &Path) -> bool {
    // In the store the name follows a hash: `<hash>-home-manager-path`.
    place.starts_with("/etc/profiles/per-user")
        || directories(place).any(|directory| {
            name(directory).is_some_and(|name| {
                name == ".nix-profile" || name == "home-manager" || name.contains("-home-manager-")
            })
        })
}

fn is_build_tree(place: &Path) -> bool {
    directories(place).any(|profile| {
        matches!(name(profile), Some("debug" | "release"))
            && directories(profile).take(2).any(|directory| name(directory) == Some("target"))
    })
}

fn is_python_environment(place: &Path) -> bool {
    let holds_packages = directories(place).any(|directory| match name(directory) {
        Some("site-packages") => true,
        // Debian's Python packages; those of pip are under `/usr/local`.
        Some("dist-packages") => !place.starts_with("/usr/lib"),
        _ => false,
    });
    holds_packages || is_in_virtual_environment(place)
}

/// Whether the executable is `<environment>/bin/<name>` in a virtual environment.
fn is_in_virtual_environment(place: &Path) -> bool {
    let mut above = directories(place).map(name);
    if !matches!(above.next().flatten(), Some("bin" | "Scripts")) {
        return false;
    }
    let environment = above.next().flatten().unwrap_or_default().trim_start_matches('.');
    let shelf = above.next().flatten().unwrap_or_default().trim_start_matches('.');
    environment.starts_with("venv")
        || environment.ends_with("venv")
        || environment == "virtualenv"
        || matches!(shelf, "venvs" | "virtualenvs")
}

fn is_under(place: &Path, directories: &[&str]) -> bool {
    directories.iter().any(|directory| place.starts_with(directory))
}

/// The parent directories of a path, innermost first.
fn directories(place: &Path) -> impl Iterator<Item = &Path> {
    place.ancestors().skip(1)
}

fn name(directory: &Path) -> Option<&str> {
    directory.file_name()?.to_str()
}
