//! Servers in project files: `.agent/config.yaml`, `.mcp.json` and `.vscode/mcp.json`, from
//! the working folder up to the root of the repository.
//!
//! A project file is untrusted. Its servers are used only after a person has approved exactly
//! its content; a changed file needs approval again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_client::config::foreign::{self, ForeignError, Kind};
use mcp_client::config::{Configured, Problem, Scope, parse_entry, valid_name};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use settings::Node;

use crate::config::{self, lock};
use crate::diagnostic::{Diagnostic, ErrorContext, Result};
use crate::download::digest;
use crate::session::Session;
use crate::skills::folders::{MAX_LEVELS, owner, real};

/// The files, in order of precedence.
const FILES: [(&str, Option<Kind>); 3] = [
    (".agent/config.yaml", None),
    (".mcp.json", Some(Kind::ClaudeCode)),
    (".vscode/mcp.json", Some(Kind::VsCode)),
];
/// Marks the root of a repository, above which nothing is read.
const REPOSITORY: &str = ".git";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApprovalState {
    Approved,
    New,
    /// Another version was approved.
    Changed,
}

impl ApprovalState {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::New => "not approved",
            Self::Changed => "changed since its approval",
        }
    }
}

/// A project file with servers.
#[derive(Debug)]
pub(crate) struct ProjectFile {
    pub(crate) path: PathBuf,
    pub(crate) state: ApprovalState,
    digest: String,
    pub(crate) folder: PathBuf,
    /// Names and entries, in our keys.
    pub(crate) servers: Vec<(String, Json)>,
    /// Why the file is unusable.
    pub(crate) fault: Option<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Approvals {
    #[serde(default)]
    files: BTreeMap<PathBuf, String>,
}

/// The files of the current project, the nearest first.
pub(crate) fn files(session: &Session) -> Result<Vec<ProjectFile>> {
    let approvals = Approvals::read(session)?;
    let own = real(&session.home()?.config());
    let here = std::env::current_dir().and_then(fs::canonicalize).unwrap_or_default();
    let person = session.environment.home.as_ref().map(|home| real(home));
    let mut found = Vec::new();
    for folder in here.ancestors().take(MAX_LEVELS) {
        // The home folder has the files of a person, not of a project.
        if Some(folder) == person.as_deref() {
            break;
        }
        for (name, kind) in FILES {
            let path = folder.join(name);
            if path.is_file() && real(&path) != own {
                found.extend(ProjectFile::read(path, kind, folder, &here, &approvals));
            }
        }
        if folder.join(REPOSITORY).exists() {
            break;
        }
    }
    Ok(found)
}

impl ProjectFile {
    /// `None` if the file has no servers.
    fn read(
        path: PathBuf,
        kind: Option<Kind>,
        folder: &Path,
        here: &Path,
        approvals: &Approvals,
    ) -> Option<Self> {
        let (digest, servers, fault) = match servers(&path, kind, here) {
            Ok((_, servers)) if servers.is_empty() => return None,
            Ok((digest, servers)) => (digest, servers, None),
            Err(fault) => (String::new(), Vec::new(), Some(fault)),
        };
        let state = match approvals.files.get(&path) {
            Some(approved) if fault.is_none() && *approved == digest => ApprovalState::Approved,
            Some(_) if fault.is_none() => ApprovalState::Changed,
            _ => ApprovalState::New,
        };
        let servers = servers.into_iter().map(|(name, entry)| (name, adapted(entry, folder)));
        let (servers, folder) = (servers.collect(), folder.to_owned());
        Some(Self { path, state, digest, folder, servers, fault })
    }

    /// The scope of references in this file.
    pub(crate) fn scope(&self, scope: &Scope) -> Scope {
        Scope { workspace: self.folder.clone(), ..scope.clone() }
    }

    /// Approves the file as it is now, or withdraws its approval.
    pub(crate) fn set_approved(&self, is_approved: bool, session: &Session) -> Result {
        let path = session.home()?.project_approvals();
        let _lock = lock::take(&path)?;
        let mut approvals = Approvals::read(session)?;
        approvals.files.remove(&self.path);
        if is_approved {
            approvals.files.insert(self.path.clone(), self.digest.clone());
        }
        let text = serde_json::to_string_pretty(&approvals).unwrap_or_default();
        config::write(&path, &(text + "\n"))
    }

    /// The usable servers, and the problems of the others.
    pub(crate) fn configured(&self, scope: &Scope) -> (Vec<Configured>, Vec<String>) {
        let scope = self.scope(scope);
        let (mut servers, mut faults) = (Vec::new(), Vec::new());
        for (name, entry) in &self.servers {
            let named = valid_name(name).then_some(()).ok_or("its name is invalid".to_owned());
            let parsed = named.and_then(|()| check(entry)).and_then(|()| {
                parse_entry(name, entry, &scope).map_err(|problems| {
                    let errors = problems.iter().filter(|problem| problem.is_error());
                    errors.map(Problem::to_string).collect::<Vec<_>>().join("; ")
                })
            });
            match parsed {
                Ok((configured, _)) => servers.push(configured),
                Err(fault) => faults.push(format!("server `{name}` is not used: {fault}")),
            }
        }
        (servers, faults)
    }
}

/// Fails if the entry accesses files of the person.
pub(crate) fn check(entry: &Json) -> Result<(), String> {
    let keys = entry.as_object().map(file_keys).unwrap_or_default();
    match keys.first() {
        Some(key) => Err(format!("`{key}` refers to a file on this machine; a project must not")),
        None => Ok(()),
    }
}

fn servers(
    path: &Path,
    kind: Option<Kind>,
    here: &Path,
) -> Result<(String, Vec<(String, Json)>), String> {
    if owner(path) != owner(here) {
        return Err("it belongs to another user".to_owned());
    }
    let text = match config::read(path) {
        Ok(text) => text.unwrap_or_default(),
        Err(diagnostic) => return Err(diagnostic.line()),
    };
    let digest = digest::of_bytes(text.as_bytes()).to_string();
    let servers = if let Some(kind) = kind {
        match foreign::read(kind, &text) {
            Ok(found) => found.into_iter().map(|found| (found.name, found.entry)).collect(),
            Err(ForeignError::NoServers { .. }) => Vec::new(),
            Err(error) => return Err(error.to_string()),
        }
    } else {
        let root = Node::from_yaml(&text).map_err(|problem| problem.to_string())?;
        let section = root.get("mcp_servers").map(Node::entries).unwrap_or_default();
        section.iter().map(|(key, node)| (key.text.clone(), node.to_json())).collect()
    };
    Ok((digest, servers))
}

/// A server of a project runs in the project's folder, and is untrusted unless the file, which
/// a person approves, sets another trust.
fn adapted(mut entry: Json, folder: &Path) -> Json {
    let Some(keys) = entry.as_object_mut() else { return entry };
    keys.entry("trust").or_insert_with(|| "untrusted".into());
    let folder = folder.to_string_lossy();
    if keys.contains_key("command") && !folder.contains("${") {
        keys.entry("cwd").or_insert_with(|| (*folder).into());
    }
    entry
}

impl Approvals {
    fn read(session: &Session) -> Result<Self> {
        let path = session.home()?.project_approvals();
        let Some(text) = config::read(&path)? else { return Ok(Self::default()) };
        let wrong = Diagnostic::configuration(format!("{} is invalid", path.display()));
        serde_json::from_str(&text).or_diagnostic(wrong)
    }
}

/// Keys that name files of this machine, under `oauth`.
pub(crate) const SIGN_IN_FILES: [&str; 2] = ["assertion_file", "private_key"];
/// Keys that name files of this machine.
const LOCAL_FILES: [&str; 2] = ["client_cert", "client_key"];

pub(crate) fn file_keys(entry: &Map<String, Json>) -> Vec<String> {
    let oauth = entry.get("oauth").and_then(Json::as_object);
    let signs = SIGN_IN_FILES.iter().filter(|key| oauth.is_some_and(|all| is_given(all, key)));
    let mut keys: Vec<String> = signs.map(|key| format!("oauth.{key}")).collect();
    keys.extend(LOCAL_FILES.iter().filter(|key| is_given(entry, key)).map(|&key| key.to_owned()));
    let verify = entry.get("ssl_verify").and_then(Json::as_str);
    if verify.is_some_and(|text| settings::switch(text).is_none()) {
        keys.push("ssl_verify".to_owned());
    }
    keys
}

fn is_given(entry: &Map<String, Json>, key: &str) -> bool {
    entry.get(key).is_some_and(|value| !value.is_null())
}
