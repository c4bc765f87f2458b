//! Chat function names of a request's tools, and the tools behind them.
//!
//! Chat completions have one flat list of functions with short names. Other APIs also have
//! groups of tools, free-form tools and longer names; the table maps them back in answers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fields::{Object, copy};
use super::{WebSearchTool, web_search};

/// Maximum function name length of chat completions.
pub const MAX_FUNCTION_NAME_BYTES: usize = 64;

/// The tools of one request by their chat function names.
#[derive(Debug, Clone, Default)]
pub struct ToolTable {
    by_function: BTreeMap<String, Tool>,
    functions: BTreeMap<Tool, String>,
    web_search: Option<WebSearchTool>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tool {
    pub(crate) kind: ToolKind,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ToolKind {
    Function,
    /// Takes one free-form text instead of JSON arguments.
    Custom,
    /// The client searches its own deferred tools.
    ToolSearch,
    /// The service searches the web.
    WebSearch,
}

/// The tools that a request offers: their chat functions, and the table that maps them back.
#[derive(Default)]
pub(crate) struct OfferedTools {
    pub(crate) table: ToolTable,
    pub(crate) functions: Vec<Value>,
}

impl OfferedTools {
    /// Adds the function of a tool with these fields of its definition, by source and target name; a
    /// repeated definition changes nothing.
    pub(crate) fn define(&mut self, tool: Tool, definition: &Object, fields: &[(&str, &str)]) {
        let Some(name) = self.table.add(tool) else { return };
        let mut function = Object::new();
        function.insert("name".into(), name.into());
        copy(definition, &mut function, fields);
        self.functions.push(json!({ "type": "function", "function": function }));
    }

    pub(crate) fn offer_web_search(&mut self, settings: WebSearchTool) {
        if let Some(name) = self.table.add_web_search(settings) {
            self.functions.push(web_search::function(&name));
        }
    }
}

impl Tool {
    pub(crate) fn new(kind: ToolKind, namespace: Option<&str>, name: &str) -> Self {
        Self { kind, namespace: namespace.map(str::to_owned), name: name.to_owned() }
    }
}

impl ToolTable {
    /// The settings of the web search that the service must execute, if the request offers one.
    pub fn web_search(&self) -> Option<&WebSearchTool> {
        self.web_search.as_ref()
    }

    /// Adds a tool and returns its function name, or `None` if the table already has the tool.
    pub(crate) fn add(&mut self, tool: Tool) -> Option<String> {
        if self.functions.contains_key(&tool) {
            return None;
        }
        let mut name = preferred_name(&tool);
        let mut attempt = 0;
        while self.by_function.contains_key(&name) {
            attempt += 1;
            name = hashed_name(&name, &tool, attempt);
        }
        self.functions.insert(tool.clone(), name.clone());
        self.by_function.insert(name.clone(), tool);
        Some(name)
    }

    /// Adds the web search and returns its function name.
    pub(crate) fn add_web_search(&mut self, settings: WebSearchTool) -> Option<String> {
        self.web_search = Some(settings);
        self.add(Tool::new(ToolKind::WebSearch, None, "web_search"))
    }

    /// Removes the web search and returns its function name.
    pub(crate) fn remove_web_search(&mut self) -> Option<String> {
        self.web_search.take()?;
        let name = self.functions.remove(&Tool::new(ToolKind::WebSearch, None, "web_search"))?;
        self.by_function.remove(&name);
        Some(name)
    }

    /// The tool of a call; an unknown name is a function of that name.
    pub(crate) fn tool(&self, function: &str) -> Tool {
        let unknown = || Tool::new(ToolKind::Function, None, function);
        self.by_function.get(function).cloned().unwrap_or_else(unknown)
    }

    /// The function name of a tool, also of one that the request no longer offers.
    pub(crate) fn function<'a>(&'a self, tool: &Tool) -> Cow<'a, str> {
        self.functions.get(tool).map_or_else(|| preferred_name(tool).into(), Cow::from)
    }

    /// The function name of an offered tool, in any namespace.
    pub(crate) fn offered(&self, kind: ToolKind, name: &str) -> Option<&str> {
        let mut tools = self.functions.iter();
        tools
            .find(|(tool, _)| tool.kind == kind && tool.name == name)
            .map(|(_, function)| function.as_str())
    }
}

/// The tool's name with its namespace, reduced to the characters of function names.
fn preferred_name(tool: &Tool) -> String {
    let joined = match tool.namespace.as_deref() {
        None => Cow::Borrowed(tool.name.as_str()),
        Some(namespace) => format!("{namespace}__{}", tool.name).into(),
    };
    let is_legal = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
    let legal: String =
        joined.chars().map(|char| if is_legal(char) { char } else { '_' }).collect();
    if legal.len() > MAX_FUNCTION_NAME_BYTES { hashed_name(&legal, tool, 0) } else { legal }
}

/// The beginning of `name`, which is ASCII, followed by a hash of the tool.
fn hashed_name(name: &str, tool: &Tool, attempt: u32) -> String {
    // FNV-1a: the name must be the same in every request of a conversation.
    let namespace = tool.namespace.as_deref().unwrap_or_default();
    let bytes = namespace.bytes().chain([0]).chain(tool.name.bytes()).chain(attempt.to_le_bytes());
    let hash = bytes
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let stem = &name[..name.len().min(MAX_FUNCTION_NAME_BYTES - 9)];
    format!("{stem}_{hash:08x}")
}

#[cfg(test)]
mod tests;
