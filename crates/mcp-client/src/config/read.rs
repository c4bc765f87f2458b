//! From the text of a configuration to entries and problems.
//!
//! One bad entry never takes the others down, and all problems are collected.

mod entry;
mod for_all;
mod http;
mod oauth;
mod policies;
mod section;
mod server;
mod stdio;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;

use serde_json::Value as Json;
use settings::{
    Key, KnownSecret, Node, Place, Problem, Scope, Text, Value, duplicates, given_twice, in_order,
};

pub(crate) use self::http::fault_of_address;
pub use self::oauth::fault_of_client_document;
use self::server::Reader;
use super::{MAX_SERVERS, ServerEntry};
use crate::tool_name::registered_name;

/// The longest name of a server, in characters.
const MAX_NAME: usize = 64;
/// The root key of the servers. Beside it only `mcp` is read; all others belong to other parts.
const ROOT: &str = "mcp_servers";

/// What a configuration says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// The servers in the order of the file, also those that are not enabled. A server with an
    /// error is not among them.
    pub servers: Vec<Configured>,
    /// `mcp.client_metadata_url`: the client document of servers that name none of their own.
    pub client_metadata_url: Option<Text>,
    /// What is wrong, in the order of the file.
    pub problems: Vec<Problem>,
}

/// A server, where it stands, and what of it must never be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Configured {
    /// What was configured, with every default filled in.
    pub entry: ServerEntry,
    /// The line of its name; 0 if it did not come from a file.
    pub line: usize,
    /// Values that must never be displayed, the longest first.
    pub secrets: Vec<KnownSecret>,
}

/// Reads `mcp_servers` and `mcp` out of the text of a config file. The text is YAML, of which
/// JSON is a part. Other root keys are ignored. It never fails as a whole: what is wrong is in
/// `problems`.
pub fn parse(text: &str, scope: &Scope) -> Parsed {
    let mut parsed = Parsed::default();
    match Node::from_yaml(text) {
        Ok(root) => read_root(&root, scope, &mut parsed),
        Err(problem) => parsed.problems.push(problem),
    }
    parsed.problems = in_order(parsed.problems);
    parsed
}

/// Reads one entry given as JSON: from the command line, pasted documentation, an install link.
/// The problems beside an entry are warnings; without one, at least one is an error.
pub fn parse_entry(
    name: &str,
    entry: &Json,
    scope: &Scope,
) -> Result<(Configured, Vec<Problem>), Vec<Problem>> {
    let Some(node) = Node::from_json(entry) else {
        return Err(vec![Problem::error(Place::default(), "it is too deeply nested").of(name, "")]);
    };
    let key = Key { place: Place::default(), text: name.to_owned() };
    let (configured, problems) = read_server(&key, &node, scope);
    let problems = in_order(problems);
    match configured {
        Some(configured) => Ok((configured, problems)),
        None => Err(problems),
    }
}

/// Whether a name can be used for a new server: 1 to 64 letters, digits, dots, underscores and
/// hyphens.
pub fn valid_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn read_root(root: &Node, scope: &Scope, parsed: &mut Parsed) {
    let entries = match &root.value {
        Value::Null => return,
        Value::Map(entries) => entries,
        _ => {
            let message = format!("the file must be a mapping, found {}", root.kind());
            parsed.problems.push(Problem::error(root.place, message));
            return;
        }
    };
    for (key, _) in entries.iter().filter(|(key, _)| key.text != ROOT && is_meant(&key.text)) {
        let message = format!("`{}` is not read; did you mean `{ROOT}`?", key.text);
        parsed.problems.push(Problem::warning(key.place, message));
    }
    for_all::read(entries, scope, parsed);
    let mut found = entries.iter().filter(|(key, _)| key.text == ROOT);
    let Some((first, node)) = found.next() else { return };
    if let Some((second, _)) = found.next() {
        parsed.problems.push(Problem { key: Some(ROOT.into()), ..given_twice(first, second) });
        return;
    }
    match &node.value {
        Value::Null => {}
        Value::Map(servers) => read_servers(servers, scope, parsed),
        _ => {
            let message = format!("must be a mapping from names to servers, found {}", node.kind());
            parsed
                .problems
                .push(Problem { key: Some(ROOT.into()), ..Problem::error(node.place, message) });
        }
    }
}

/// Whether a root key is probably another spelling of ours.
fn is_meant(key: &str) -> bool {
    let letters = key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase());
    matches!(letters.collect::<String>().as_str(), "mcpservers" | "mcpserver")
}

fn read_servers(servers: &[(Key, Node)], scope: &Scope, parsed: &mut Parsed) {
    let twice = duplicates(servers);
    for (first, second) in &twice {
        parsed.problems.push(given_twice(first, second).of(&second.text, ""));
    }
    for (index, (key, node)) in servers.iter().enumerate() {
        if index == MAX_SERVERS {
            let message =
                format!("there are {} servers, at most {MAX_SERVERS} are read", servers.len());
            parsed.problems.push(Problem::error(key.place, message));
            break;
        }
        let (configured, problems) = read_server(key, node, scope);
        parsed.problems.extend(problems);
        let is_unique = !twice.iter().any(|(first, _)| first.text == key.text);
        parsed.servers.extend(configured.filter(|_| is_unique));
    }
    parsed.problems.extend(alike(servers, &parsed.servers));
}

/// Servers whose tools would be registered under the same names: the later of two is warned of.
fn alike(servers: &[(Key, Node)], read: &[Configured]) -> Vec<Problem> {
    let mut first: BTreeMap<String, &str> = BTreeMap::new();
    let mut problems = Vec::new();
    for Configured { entry, .. } in read.iter().filter(|configured| configured.entry.enabled) {
        match first.entry(registered_name(&entry.name, "")) {
            Slot::Vacant(slot) => {
                slot.insert(&entry.name);
            }
            Slot::Occupied(slot) => {
                let key = servers.iter().find(|(key, _)| key.text == entry.name);
                let message = format!(
                    "its tools are registered as `{}…`, as those of `{}` are: where the names are \
                     the same, only the first server's is used",
                    slot.key(),
                    slot.get()
                );
                let place = key.map_or_else(Place::default, |(key, _)| key.place);
                problems.push(
                    Problem::warning(place, message).of(&entry.name, "").hint(
                        "rename one of them so that they differ in more than `-`, `.` and `_`",
                    ),
                );
            }
        }
    }
    problems
}

fn read_server(key: &Key, node: &Node, scope: &Scope) -> (Option<Configured>, Vec<Problem>) {
    let mut reader = Reader::of_server(scope, &key.text);
    if !valid_name(&key.text) {
        reader.report(
            "",
            Problem::warning(
                key.place,
                "the name should be 1 to 64 letters, digits, dots, underscores and hyphens",
            ),
        );
    }
    let entry = if let Value::Map(entries) = &node.value {
        reader.entry(key.place, entries)
    } else {
        let message = format!("a server must be a mapping, found {}", node.kind());
        reader.report("", Problem::error(node.place, message).hint("give it `url` or `command`"));
        None
    };
    let (problems, secrets) = reader.finish();
    let usable = !problems.iter().any(Problem::is_error);
    let configured =
        entry.filter(|_| usable).map(|entry| Configured { entry, line: key.place.line, secrets });
    (configured, problems)
}

#[cfg(test)]
pub(super) mod tests;
