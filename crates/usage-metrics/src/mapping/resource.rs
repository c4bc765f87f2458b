//! The resource block: operating system, architecture, version and way of installation.
//!
//! The names are those that operating systems and build tools use for themselves; the way of
//! installation is either declared by the packager or read off the place of the executable.

use std::borrow::Cow;
use std::path::Path;

use super::{UNKNOWN, normalise};
use crate::catalogue::{Architecture, InstallMethod, MAX_VERSION_CHARS, OsFamily};

#[cfg(test)]
mod tests;

/// Directories that only the Nix package manager fills.
const NIX: &[&str] = &["/nix/store", "/run/current-system"];

/// Directories of whole Homebrew packages; Python packages in them came with the package.
const HOMEBREW_CELLARS: &[&str] =
    &["/opt/homebrew/Cellar", "/usr/local/Cellar", "/home/linuxbrew/.linuxbrew/Cellar"];

/// Prefixes that belong to Homebrew but into which its Python installs packages too.
const HOMEBREW_PREFIXES: &[&str] = &["/opt/homebrew", "/home/linuxbrew/.linuxbrew"];

/// Directories that the system's package manager fills.
const SYSTEM: &[&str] = &["/usr/bin", "/bin", "/usr/sbin", "/usr/lib"];

/// The family of the operating system with this name.
pub fn os_family(name: &str) -> OsFamily {
    match normalise(name).as_ref() {
        "darwin" => OsFamily::Macos,
        name => OsFamily::parse(name).unwrap_or(OsFamily::Unknown),
    }
}

/// The architecture with this name, in any of its usual spellings.
pub fn architecture(name: &str) -> Architecture {
    match normalise(name).as_ref() {
        // `-` and `_` are the same; this is the one name that has either.
        "amd64" | "x64" | "x86_64" | "x86-64" => Architecture::X86_64,
        "aarch64" | "arm64" => Architecture::Arm64,
        "i386" | "i486" | "i586" | "i686" | "x86" => Architecture::X86,
        // Rust says `arm` where a kernel says `armv7l`.
        "arm" => Architecture::Arm,
        name if name.starts_with("armv") => Architecture::Arm,
        _ => Architecture::Unknown,
    }
}

/// The way of installation with this name.
pub fn install_method(name: &str) -> InstallMethod {
    match normalise(name).as_ref() {
        "nix" => InstallMethod::Nixos,
        name => InstallMethod::parse(name).unwrap_or(InstallMethod::Unknown),
    }
}

/// The version as it may stand in a package: without space around it, or [`UNKNOWN`] when nothing
/// is left or more than [`MAX_VERSION_CHARS`] characters are.
pub fn version(raw: &str) -> Cow<'_, str> {
    let version = raw.trim();
    let fits = !version.is_empty() && version.chars().nth(MAX_VERSION_CHARS).is_none();
    Cow::Borrowed(if fits { version } else { UNKNOWN })
}

/// What is known about how the client came onto this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct InstallFacts<'a> {
    /// What the packager declared, if anything.
    pub declared: Option<&'a str>,
    /// Where the running executable lies; symbolic links resolved where that can be done.
    pub executable: Option<&'a Path>,
    /// Whether the process runs in a container.
    pub in_container: bool,
}

/// Tells the way of installation. The first that holds decides:
///
/// 1. the declaration, when it names a listed way;
/// 2. the Nix store, where a home-manager generation is told from the rest;
/// 3. a Cargo build tree (`target/debug`, `target/release`, also with a target triple): git;
/// 4. a Nix profile of one person: home-manager;
/// 5. a Homebrew cellar, then a Python environment, then a Homebrew prefix: a Python package in
///    the cellar is part of a Homebrew package, one elsewhere under the prefix came by pip;
/// 6. a container: docker. It comes after the places above, which say how the file got into the
///    container, and before the system directories, where an image puts its files as well;
/// 7. the system directories: apt.
pub fn detect_install_method(facts: &InstallFacts<'_>) -> InstallMethod {
    let declared = facts.declared.map_or(InstallMethod::Unknown, install_method);
    if declared != InstallMethod::Unknown {
        return declared;
    }
    let place = facts.executable.unwrap_or(Path::new(""));
    if let Some(method) = method_of_place(place) {
        method
    } else if facts.in_container {
        InstallMethod::Docker
    } else if is_under(place, SYSTEM) {
        InstallMethod::Apt
    } else {
        InstallMethod::Unknown
    }
}

/// The way of installation that the place of the executable proves by itself.
fn method_of_place(place: &Path) -> Option<InstallMethod> {
    if is_under(place, NIX) {
        Some(if is_home_manager(place) { InstallMethod::HomeManager } else { InstallMethod::Nixos })
    } else if is_build_tree(place) {
        Some(InstallMethod::Git)
    } else if is_home_manager(place) {
        Some(InstallMethod::HomeManager)
    } else if is_under(place, HOMEBREW_CELLARS) {
        Some(InstallMethod::Homebrew)
    } else if is_python_environment(place) {
        Some(InstallMethod::Pip)
    } else if is_under(place, HOMEBREW_PREFIXES) {
        Some(InstallMethod::Homebrew)
    } else {
        None
    }
}

fn is_home_manager(place: &Path) -> bool {
    // In the store the name has a hash before it: `<hash>-home-manager-path`.
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
        // Debian's own Python packages; pip's are under `/usr/local`.
        Some("dist-packages") => !place.starts_with("/usr/lib"),
        _ => false,
    });
    holds_packages || is_in_virtual_environment(place)
}

/// Whether the executable is `<environment>/bin/<name>` with an environment that is called one.
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

/// The directories a path lies in, innermost first.
fn directories(place: &Path) -> impl Iterator<Item = &Path> {
    place.ancestors().skip(1)
}

fn name(directory: &Path) -> Option<&str> {
    directory.file_name()?.to_str()
}
