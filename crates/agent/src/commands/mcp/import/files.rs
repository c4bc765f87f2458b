//! Where other clients keep their servers, on each system.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcp_client::config::foreign::Kind;

use super::Client;
use crate::session::Session;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum System {
    Linux,
    MacOs,
    Windows,
}

impl System {
    fn here() -> Self {
        match std::env::consts::OS {
            "macos" => System::MacOs,
            "windows" => System::Windows,
            _ => System::Linux,
        }
    }
}

pub(super) fn existing(session: &Session, only: Option<Client>) -> Vec<File> {
    let variables = &session.environment.all;
    let home = session.environment.home.clone();
    let home = home.or_else(|| variables.get("USERPROFILE").map(PathBuf::from));
    let work = std::env::current_dir().unwrap_or_default();
    let mut files = possible(System::here(), home.as_deref(), variables, &work);
    files.retain(|(client, file)| only.is_none_or(|only| only == *client) && file.path.is_file());
    files.into_iter().map(|(_, file)| file).collect()
}

/// The client that a file belongs to, by its name.
pub(super) fn kind_of(path: &Path, from: Option<Client>) -> Kind {
    match from {
        Some(client) => client.kind(),
        None if path.extension().is_some_and(|ending| ending == "toml") => Kind::Codex,
        None => Kind::Pasted,
    }
}

impl Client {
    fn kind(self) -> Kind {
        match self {
            Client::ClaudeDesktop => Kind::ClaudeDesktop,
            Client::ClaudeCode => Kind::ClaudeCode,
            Client::Cursor => Kind::Cursor,
            Client::Vscode => Kind::VsCode,
            Client::Codex => Kind::Codex,
            Client::Hermes => Kind::Hermes,
            Client::Goose => Kind::Goose,
            Client::Zed => Kind::Zed,
            Client::Windsurf => Kind::Windsurf,
        }
    }
}

/// Every place where a file may be: those of the person, then those of the project.
fn possible(
    system: System,
    home: Option<&Path>,
    variables: &BTreeMap<String, String>,
    work: &Path,
) -> Vec<(Client, File)> {
    let variable = |name: &str| variables.get(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let xdg = || variable("XDG_CONFIG_HOME").or_else(|| home.map(|home| home.join(".config")));
    let settings = match system {
        System::Linux => xdg(),
        System::MacOs => home.map(|home| home.join("Library/Application Support")),
        System::Windows => {
            variable("APPDATA").or_else(|| home.map(|home| home.join("AppData").join("Roaming")))
        }
    };
    let codex = variable("CODEX_HOME").or_else(|| home.map(|home| home.join(".codex")));
    let hermes = variable("HERMES_HOME").or_else(|| home.map(|home| home.join(".hermes")));
    // These two use the XDG folder on macOS, too.
    let dotted = if system == System::Windows { settings.clone() } else { xdg() };
    let (goose, zed): (&[&str], &[&str]) = match system {
        System::Windows => {
            (&["Block", "goose", "config", "config.yaml"], &["Zed", "settings.json"])
        }
        _ => (&["goose", "config.yaml"], &["zed", "settings.json"]),
    };
    let places: [(Client, Option<&Path>, &[&str]); 14] = [
        (Client::ClaudeDesktop, settings.as_deref(), &["Claude", "claude_desktop_config.json"]),
        (Client::ClaudeCode, home, &[".claude.json"]),
        (Client::Cursor, home, &[".cursor", "mcp.json"]),
        (Client::Vscode, settings.as_deref(), &["Code", "User", "mcp.json"]),
        (Client::Vscode, settings.as_deref(), &["Code", "User", "settings.json"]),
        (Client::Codex, codex.as_deref(), &["config.toml"]),
        (Client::Hermes, hermes.as_deref(), &["config.yaml"]),
        (Client::Goose, dotted.as_deref(), goose),
        (Client::Zed, dotted.as_deref(), zed),
        (Client::Windsurf, home, &[".codeium", "windsurf", "mcp_config.json"]),
        (Client::ClaudeCode, Some(work), &[".mcp.json"]),
        (Client::Cursor, Some(work), &[".cursor", "mcp.json"]),
        (Client::Vscode, Some(work), &[".vscode", "mcp.json"]),
        (Client::Zed, Some(work), &[".zed", "settings.json"]),
    ];
    let mut files: Vec<(Client, File)> = Vec::new();
    for (client, base, parts) in places {
        let Some(base) = base else { continue };
        let path = base.join(parts.iter().collect::<PathBuf>());
        // At home the project's files may be the person's.
        if !files.iter().any(|(_, file)| file.path == path) {
            files.push((client, File { path, kind: client.kind() }));
        }
    }
    files
}

#[cfg(test)]
mod tests;
