//! Stored approvals: by tool definition, and whether it needs no further question.

use std::collections::BTreeMap;
use std::{fmt, io};

use serde::{Deserialize, Serialize};

/// Maximum size of all definitions of one server. Beyond it only digests are stored: changes
/// are still noticed, but the earlier definition cannot be shown.
const MAX_DEFINITIONS_BYTES: usize = 1024 * 1024;

/// Stores the approvals as text. The caller owns the file.
pub trait ApprovalStore: fmt::Debug + Send + Sync {
    fn name(&self) -> String;

    /// The stored text; `None` if there is none yet.
    fn read(&self) -> io::Result<Option<String>>;

    /// Runs `change`, which may call [`Self::read`], and stores the text it returns. No other
    /// process changes the text meanwhile.
    fn update(&self, change: &mut dyn FnMut() -> io::Result<Option<String>>) -> io::Result<()>;
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ApprovalMemory {
    #[serde(default)]
    tools: BTreeMap<String, BTreeMap<String, ApprovedTool>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedTool {
    pub(crate) digest: String,
    /// It runs without a question while its definition is unchanged.
    #[serde(default)]
    pub always: bool,
    /// The definition as text; empty if there was no room for it.
    #[serde(default)]
    pub definition: String,
}

impl ApprovalMemory {
    pub fn read(store: &dyn ApprovalStore) -> io::Result<Self> {
        let Some(text) = store.read()? else { return Ok(Self::default()) };
        serde_json::from_str(&text).map_err(|error| {
            io::Error::other(format!("invalid content in {}: {error}", store.name()))
        })
    }

    pub fn all(&self) -> impl Iterator<Item = (&str, &str, &ApprovedTool)> {
        self.tools.iter().flat_map(|(server, tools)| {
            tools.iter().map(|(name, tool)| (server.as_str(), name.as_str(), tool))
        })
    }

    pub(crate) fn of(&self, server: &str, tool: &str) -> Option<&ApprovedTool> {
        self.tools.get(server)?.get(tool)
    }

    pub(crate) fn remember(
        store: &dyn ApprovalStore,
        server: &str,
        tool: &str,
        mut now: ApprovedTool,
    ) -> io::Result<()> {
        store.update(&mut || {
            let mut memory = Self::read(store)?;
            let tools = memory.tools.entry(server.to_owned()).or_default();
            let before = tools.remove(tool);
            let kept: usize = tools.values().map(|tool| tool.definition.len()).sum();
            if kept + now.definition.len() > MAX_DEFINITIONS_BYTES {
                now.definition.clear();
            }
            if before.as_ref() == Some(&now) {
                return Ok(None);
            }
            tools.insert(tool.to_owned(), now.clone());
            memory.text().map(Some)
        })
    }

    /// Revokes the approvals of a server, or of one of its tools. The definitions are kept, so
    /// that later changes are still noticed. Returns the number of revoked approvals.
    pub fn revoke(
        store: &dyn ApprovalStore,
        server: &str,
        tool: Option<&str>,
    ) -> io::Result<usize> {
        let mut revoked = 0;
        store.update(&mut || {
            let mut memory = Self::read(store)?;
            let tools = memory.tools.get_mut(server).into_iter().flatten();
            let meant = tools.filter(|(name, _)| tool.is_none_or(|tool| tool == name.as_str()));
            for (_, approved) in meant.filter(|(_, approved)| approved.always) {
                approved.always = false;
                revoked += 1;
            }
            if revoked == 0 { Ok(None) } else { memory.text().map(Some) }
        })?;
        Ok(revoked)
    }

    fn text(&self) -> io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
