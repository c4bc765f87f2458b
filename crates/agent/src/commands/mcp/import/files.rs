//! The configuration files of other clients, on each system.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcp_client::config::foreign::Kind;

use crate::session::Session;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

pub(super) fn existing(session: &Session, only: Option<Kind>) -> Vec<File> {
    let variables = &session.environment.all;
    let home = session.environment.home.clone();
    let home = home.or_else(|| variables.get("USERPROFILE").map(PathBuf::from));
    let work = std::env::current_dir().unwrap_or_default();
    let mut files = possible(std::env::consts::OS, home.as_deref(), variables, &work);
    files.retain(|file| only.is_none_or(|only| only == file.kind) && file.path.is_file());
    files
}

/// Every possible file: those of the person, then those of the project.
fn possible(
    system: &str,
    home: Option<&Path>,
    variables: &BTreeMap<String, String>,
    work: &Path,
) -> Vec<File> {
    let variable = |name: &str| variables.get(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let xdg = || variable("XDG_CONFIG_HOME").or_else(|| home.map(|home| home.join(".config")));
    let settings = match system {
        "macos" => home.map(|home| home.join("Library/Application Support")),
        "windows" => {
            variable("APPDATA").or_else(|| home.map(|home| home.join("AppData").join("Roaming")))
        }
        _ => xdg(),
    };
    let codex = variable("CODEX_HOME").or_else(|| home.map(|home| home.join(".codex")));
    let hermes = variable("HERMES_HOME").or_else(|| home.map(|home| home.join(".hermes")));
    // These two use the XDG folder on macOS, too.
    let dotted = if system == "windows" { settings.clone() } else { xdg() };
    let (goose, zed): (&[&str], &[&str]) = match system {
        "windows" => (&["Block", "goose", "config", "config.yaml"], &["Zed", "settings.json"]),
        _ => (&["goose", "config.yaml"], &["zed", "settings.json"]),
    };
    let places: [(Kind, Option<&Path>, &[&str]); 14] = [
        (Kind::ClaudeDesktop, settings.as_deref(), &["Claude", "claude_desktop_config.json"]),
        (Kind::ClaudeCode, home, &[".claude.json"]),
        (Kind::Cursor, home, &[".cursor", "mcp.json"]),
        (Kind::VsCode, settings.as_deref(), &["Code", "User", "mcp.json"]),
        (Kind::VsCode, settings.as_deref(), &["Code", "User", "settings.json"]),
        (Kind::Codex, codex.as_deref(), &["config.toml"]),
        (Kind::Hermes, hermes.as_deref(), &["config.yaml"]),
        (Kind::Goose, dotted.as_deref(), goose),
        (Kind::Zed, dotted.as_deref(), zed),
        (Kind::Windsurf, home, &[".codeium", "windsurf", "mcp_config.json"]),
        (Kind::ClaudeCode, Some(work), &[".mcp.json"]),
        (Kind::Cursor, Some(work), &[".cursor", "mcp.json"]),
        (Kind::VsCode, Some(work), &[".vscode", "mcp.json"]),
        (Kind::Zed, Some(work), &[".zed", "settings.json"]),
    ];
    let mut files: Vec<File> = Vec::new();
    for (kind, base, parts) in places {
        let Some(base) = base else { continue };
        let path = base.join(parts.iter().collect::<PathBuf>());
        // In the home folder the project's files may be the person's.
        if !files.iter().any(|file| file.path == path) {
            files.push(File { path, kind });
        }
    }
    files
}

#[cfg(test)]
mod tests;
