//! Servers in the files of other clients, converted to our keys.
//!
//! Everything here is pure: text goes in, entries come out. The notes of an entry name what
//! has no counterpart. Entries may hold secrets, so only their keys are shown.

mod lenient;
mod translate;

use std::fmt;

use serde_json::{Map, Value as Json};
use settings::Node;

use self::translate::translate;

/// Maximum size of a file, in bytes. Some clients store their whole history in it.
pub const MAX_FOREIGN_BYTES: usize = 64 * 1024 * 1024;
/// Maximum number of servers read from one file.
pub const MAX_FOUND: usize = 1024;

/// Keys of clients whose entries are not supported.
const WRAPPERS: &[&str] = &["mcp"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `claude_desktop_config.json`.
    ClaudeDesktop,
    /// `~/.claude.json` with its projects, or `.mcp.json` of a project.
    ClaudeCode,
    /// `~/.cursor/mcp.json` or `.cursor/mcp.json` of a project.
    Cursor,
    /// `mcp.json` of an editor or `.vscode/mcp.json`; also the `mcp` part of its settings.
    VsCode,
    /// `~/.codex/config.toml`.
    Codex,
    /// `~/.hermes/config.yaml`.
    Hermes,
    /// `config.yaml` of goose.
    Goose,
    /// `settings.json` of Zed.
    Zed,
    /// `~/.codeium/windsurf/mcp_config.json`.
    Windsurf,
    /// Pasted text: any of the above, one entry, or our own format.
    Pasted,
}

#[derive(Clone, PartialEq)]
pub struct Found {
    /// The name in the file; empty if a pasted entry has none.
    pub name: String,
    /// The scope of the entry, such as a project of Claude Code.
    pub scope: Option<String>,
    /// The entry, in our keys.
    pub entry: Json,
    /// Settings that could not be converted, and remaining steps.
    pub notes: Vec<String>,
    /// Why the server works in the other client only.
    pub unusable: Option<&'static str>,
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.entry.as_object().into_iter().flat_map(Map::keys).collect();
        f.debug_struct("Found")
            .field("name", &self.name)
            .field("scope", &self.scope)
            .field("keys", &keys)
            .field("notes", &self.notes)
            .field("unusable", &self.unusable)
            .finish()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForeignError {
    #[error("the text is larger than {MAX_FOREIGN_BYTES} bytes")]
    TooLarge,
    #[error("invalid JSON at line {line}, column {column}")]
    NotJson { line: usize, column: usize },
    #[error("invalid TOML at line {line}")]
    NotToml { line: usize },
    #[error("invalid YAML at line {line}")]
    NotYaml { line: usize },
    #[error("the text is not a mapping of servers in JSON, YAML or TOML")]
    NotUnderstood,
    /// The servers are under a key of a client with an unsupported entry format.
    #[error("unsupported format of the servers under `{wrapper}`")]
    UnknownWrapper { wrapper: &'static str },
    #[error("no servers found under {expected}")]
    NoServers { expected: &'static str },
    #[error("more than {MAX_FOUND} servers")]
    TooMany,
}

pub fn read(kind: Kind, text: &str) -> Result<Vec<Found>, ForeignError> {
    if text.len() > MAX_FOREIGN_BYTES {
        return Err(ForeignError::TooLarge);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let found = match kind {
        Kind::ClaudeDesktop | Kind::Cursor | Kind::Windsurf => {
            under("`mcpServers`", &lenient::parse(text)?, kind)
        }
        Kind::Zed => under("`context_servers`", &lenient::parse(text)?, kind),
        Kind::Hermes => under("`mcp_servers`", &yaml(text)?, kind),
        Kind::Goose => under("`extensions`", &yaml(text)?, kind),
        Kind::ClaudeCode => claude_code(&lenient::parse(text)?, kind),
        Kind::VsCode => vs_code(&lenient::parse(text)?, kind),
        Kind::Codex => under("`mcp_servers`", &toml(text)?, kind),
        Kind::Pasted => pasted(text),
    }?;
    if found.len() > MAX_FOUND { Err(ForeignError::TooMany) } else { Ok(found) }
}

/// The servers under one key, which is in backticks.
fn under(expected: &'static str, root: &Json, kind: Kind) -> Result<Vec<Found>, ForeignError> {
    let servers = object(root, expected.trim_matches('`'));
    Ok(all(servers.ok_or(ForeignError::NoServers { expected })?, None, kind))
}

fn claude_code(root: &Json, kind: Kind) -> Result<Vec<Found>, ForeignError> {
    let own = object(root, "mcpServers");
    let projects = object(root, "projects");
    if own.is_none() && projects.is_none() {
        return Err(ForeignError::NoServers { expected: "`mcpServers` or `projects`" });
    }
    let mut found = own.map(|own| all(own, None, kind)).unwrap_or_default();
    for (path, project) in projects.into_iter().flatten() {
        let Some(servers) = object(project, "mcpServers") else { continue };
        let off = project.get("disabledMcpServers").and_then(Json::as_array);
        let is_off = |name: &str| off.is_some_and(|off| off.iter().any(|item| item == name));
        for mut server in all(servers, Some(path), kind) {
            if is_off(&server.name)
                && let Some(entry) = server.entry.as_object_mut()
            {
                entry.insert("enabled".into(), false.into());
            }
            found.push(server);
        }
    }
    Ok(found)
}

fn vs_code(root: &Json, kind: Kind) -> Result<Vec<Found>, ForeignError> {
    let settings = root.get("mcp").filter(|mcp| object(mcp, "servers").is_some());
    let settings = settings.unwrap_or(root);
    let servers = object(settings, "servers");
    let servers = servers.ok_or(ForeignError::NoServers { expected: "`servers`" })?;
    let mut found = all(servers, None, kind);
    translate::name_inputs(&mut found, settings.get("inputs"));
    Ok(found)
}

/// Any form: the wrapper of a client, a mapping of servers, or one entry; in JSON, also
/// without its outer braces, in YAML or in TOML.
fn pasted(text: &str) -> Result<Vec<Found>, ForeignError> {
    let text = unfenced(text);
    let trimmed = text.trim().trim_end_matches(',');
    let json = lenient::parse(trimmed)
        .or_else(|_| lenient::parse(&format!("{{{trimmed}}}")))
        .ok()
        .filter(Json::is_object);
    if json.is_none()
        && let Ok(root) = toml(text)
        && let Ok(found) = under("`mcp_servers`", &root, Kind::Codex)
    {
        return Ok(found);
    }
    let root = json
        .or_else(|| Node::from_yaml(text).ok().map(|node| node.to_json()))
        .filter(Json::is_object)
        .ok_or(ForeignError::NotUnderstood)?;
    for reader in [claude_code, vs_code] {
        if let Ok(found) = reader(&root, Kind::Pasted) {
            return Ok(found);
        }
    }
    for (key, kind) in [("`extensions`", Kind::Goose), ("`context_servers`", Kind::Zed)] {
        if let Ok(found) = under(key, &root, kind) {
            return Ok(found);
        }
    }
    let ours = object(&root, "mcp_servers");
    let servers = ours.or(root.as_object()).ok_or(ForeignError::NotUnderstood)?;
    if is_entry(&root) {
        let mut servers = servers.clone();
        let name = servers.remove("name");
        let name = name.as_ref().and_then(Json::as_str).unwrap_or_default();
        return Ok(vec![translate(name, &servers, None, Kind::Pasted)]);
    }
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| object(&root, wrapper).is_some()) {
        return Err(ForeignError::UnknownWrapper { wrapper });
    }
    let found = all(servers, None, Kind::Pasted);
    if found.is_empty() {
        let expected =
            "`mcpServers`, `servers` or `mcp_servers`, and the text is not a server entry either";
        return Err(ForeignError::NoServers { expected });
    }
    Ok(found)
}

fn unfenced(text: &str) -> &str {
    let fenced = text.trim().strip_prefix("```").and_then(|rest| rest.split_once('\n'));
    fenced.map_or(text, |(_, inside)| inside.split("```").next().unwrap_or(inside))
}

/// Whether an object is an entry rather than a container of entries.
fn is_entry(value: &Json) -> bool {
    ["command", "url", "serverUrl", "httpUrl"]
        .iter()
        .any(|key| value.get(key).is_some_and(Json::is_string))
}

fn all(servers: &Map<String, Json>, scope: Option<&String>, kind: Kind) -> Vec<Found> {
    servers
        .iter()
        .filter_map(|(name, entry)| Some(translate(name, entry.as_object()?, scope, kind)))
        .collect()
}

fn object<'v>(value: &'v Json, key: &str) -> Option<&'v Map<String, Json>> {
    value.get(key)?.as_object()
}

fn yaml(text: &str) -> Result<Json, ForeignError> {
    let root =
        Node::from_yaml(text).map_err(|problem| ForeignError::NotYaml { line: problem.line })?;
    Ok(root.to_json())
}

fn toml(text: &str) -> Result<Json, ForeignError> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        let before = text.get(..at).unwrap_or_default();
        ForeignError::NotToml { line: before.matches('\n').count() + 1 }
    })
}

#[cfg(test)]
mod tests;
