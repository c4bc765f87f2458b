//! Which tool is meant, and which servers must be connected to find it.

use mcp_client::config::ServerEntry;
use mcp_client::registry::{RegisteredTool, Registry};
use mcp_client::tool_name::registered_name;
use task_loop::nearest;
use task_loop::untrusted::printable;

use crate::diagnostic::Diagnostic;
use crate::mcp::Servers;
use crate::mcp::advice::operand;

#[derive(Debug)]
pub(super) struct Target {
    name: String,
    /// The tool's own name, when it was typed behind its server.
    pub(super) native: Option<String>,
    pub(super) servers: Vec<ServerEntry>,
}

impl Target {
    pub(super) fn find(typed: &str, servers: &Servers) -> Result<Self, Diagnostic> {
        if let Some((server, native)) = typed.split_once('/') {
            let entry = servers.find(server)?.entry.clone();
            let native = Some(native.to_owned());
            return Self { name: typed.to_owned(), native, servers: vec![entry] }.enabled();
        }
        let may_own = |entry: &&ServerEntry| {
            let prefix = registered_name(&entry.name, "");
            // Names over the limit are cut before the tool's own begins.
            let cut = prefix.len() + 1 + HASH_CHARS > typed.len();
            typed.starts_with(&prefix)
                || (cut && typed.len() == mcp_client::tool_name::MAX_NAME_CHARS)
        };
        let found: Vec<ServerEntry> = servers.entries().filter(may_own).cloned().collect();
        if found.is_empty() {
            // A server with a faulty entry is not among the others: its faults are the reason.
            let names =
                servers.parsed.problems.iter().filter_map(|problem| problem.section.as_ref());
            let mut faulty = names.filter(|name| typed.starts_with(&registered_name(name, "")));
            if let Some(name) = faulty.next() {
                servers.find(name)?;
            }
            servers.whole()?;
            return Err(unknown(typed, servers));
        }
        if let Some(diagnostic) = ambiguous(typed, &found) {
            return Err(diagnostic);
        }
        Self { name: typed.to_owned(), native: None, servers: found }.enabled()
    }

    /// Only the servers that take part, unless none does.
    fn enabled(mut self) -> Result<Self, Diagnostic> {
        if let [first, ..] = &*self.servers
            && !self.servers.iter().any(|entry| entry.enabled)
        {
            let name = &first.name;
            return Err(Diagnostic::configuration(format!("server `{name}` is disabled"))
                .hint(format!("enable it with `agent mcp enable {}`", operand(name))));
        }
        self.servers.retain(|entry| entry.enabled);
        Ok(self)
    }

    pub(super) fn lookup<'a>(&self, registry: &'a Registry) -> Option<&'a RegisteredTool> {
        match &self.native {
            None => registry.lookup(&self.name),
            Some(native) => registry.entries().find(|entry| entry.native_name() == native),
        }
    }

    /// Whether a server's own name of a tool is the one that was meant.
    pub(super) fn is(&self, native: &str) -> bool {
        match &self.native {
            Some(meant) => meant == native,
            None => {
                self.servers.iter().any(|entry| registered_name(&entry.name, native) == self.name)
            }
        }
    }
}

/// The end of a name that was cut: `_` and eight digits.
const HASH_CHARS: usize = 9;

/// The error of a name that several servers' tools have.
fn ambiguous(typed: &str, found: &[ServerEntry]) -> Option<Diagnostic> {
    let enabled: Vec<&ServerEntry> = found.iter().filter(|entry| entry.enabled).collect();
    let alike = enabled.iter().find_map(|entry| {
        let prefix = registered_name(&entry.name, "");
        let tool = typed.strip_prefix(&prefix)?;
        let alike = enabled.iter().filter(|other| registered_name(&other.name, "") == prefix);
        let names: Vec<String> = alike.map(|other| printable(&other.name)).collect();
        (names.len() > 1).then_some((names, tool))
    });
    let (names, tool) = alike?;
    let forms: Vec<String> =
        names.iter().map(|name| format!("`{name}/{}`", printable(tool))).collect();
    let message = format!(
        "ambiguous tool `{}`: it may be a tool of {}",
        printable(typed),
        names.join(" or of ")
    );
    Some(Diagnostic::configuration(message).hint(format!("use {}", forms.join(" or "))))
}

fn unknown(typed: &str, servers: &Servers) -> Diagnostic {
    let typed = printable(typed);
    let prefixes: Vec<String> =
        servers.enabled().map(|entry| registered_name(&entry.name, "")).collect();
    let diagnostic = Diagnostic::configuration(format!("no server has a tool named `{typed}`"));
    match nearest(&typed, prefixes.iter().map(String::as_str)) {
        Some(near) => diagnostic.hint(format!("did you mean one that starts with `{near}`?")),
        None => diagnostic.hint(
            "use `mcp__<server>__<tool>` or `<server>/<tool>`; list tools with `agent mcp tools`",
        ),
    }
}
