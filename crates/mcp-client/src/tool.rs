//! Decoding of tool lists, one tool at a time: a malformed one is quarantined, the others are kept.
//!
//! The definition stays as the server sent it. [`crate::schema`] repairs it for model APIs, and
//! [`crate::registry`] names it.

mod header;
mod listing;
mod raw_object;
mod uri_template;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::schema::ModelSchema;

pub use header::{HeaderParam, header_value};
pub use listing::{
    Prompt, PromptArgument, Resource, ResourceTemplate, prompts_page, resources_page,
    templates_page,
};
pub use raw_object::{DecodeError, MAX_LIST_ITEMS};
pub(crate) use raw_object::{
    RawList, RawObject, json_kind, parse_lenient, parse_list, printable_excerpt,
};
pub use uri_template::BegunUri;

pub const MAX_TOOL_BYTES: usize = 256 * 1024;
pub const MAX_NATIVE_NAME_BYTES: usize = 512;
pub const MAX_SCHEMA_DEPTH: usize = 64;

/// Whether `x-mcp-header` annotations apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderMirroring {
    /// Stateless Streamable HTTP: parameters are mirrored, and an invalid annotation quarantines
    /// the tool.
    Mirror,
    /// Every other transport and era.
    Ignore,
}

#[derive(Debug, Clone)]
pub struct ListPage<T> {
    pub items: Vec<T>,
    pub quarantined: Vec<QuarantinedItem>,
    /// JSON text, to be returned verbatim.
    pub next_cursor: Option<String>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedItem {
    /// The name, or the position (`#3`) of an item without one.
    pub name: String,
    pub reason: String,
}

/// A tool as its server describes it.
#[derive(Debug, Clone)]
pub struct Tool {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub input_schema: Arc<Value>,
    pub output_schema: Option<Value>,
    read_only: bool,
    /// The tool may or must be called as a task, if the server supports tasks.
    pub runs_as_task: bool,
    /// Empty under [`HeaderMirroring::Ignore`].
    pub header_params: Vec<HeaderParam>,
    pub raw: Box<RawValue>,
    pub(crate) model_schema: ModelSchema,
}

impl Tool {
    /// Whether the server marks the tool as read-only. Only a JSON boolean counts.
    pub fn read_only(&self) -> bool {
        self.read_only
    }

    /// The `Mcp-Param-*` headers of a call.
    pub fn param_headers(&self, arguments: &Value) -> Vec<(String, String)> {
        self.header_params.iter().filter_map(|param| param.header(arguments)).collect()
    }

    /// SHA-256 of the approved content: description, both schemas, and the read-only hint.
    /// Independent of the order of keys.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(if self.read_only() { b"r" } else { b"w" });
        let mut field = |text: Option<String>| match text {
            Some(text) => {
                hash.update((text.len() as u64).to_be_bytes());
                hash.update(text.as_bytes());
            }
            None => hash.update(u64::MAX.to_be_bytes()),
        };
        field(self.description.clone());
        field(Some(canonical_json(&self.input_schema)));
        field(self.output_schema.as_ref().map(canonical_json));
        crate::tool_name::hex(&hash.finalize())
    }

    pub(crate) fn same_as(&self, other: &Self) -> bool {
        self.raw.get() == other.raw.get()
            || parse_lenient(self.raw.get()).ok() == parse_lenient(other.raw.get()).ok()
    }
}

/// Decodes one page of `tools/list`.
pub fn tools_page(result: &str, rule: HeaderMirroring) -> Result<ListPage<Tool>, DecodeError> {
    let mut seen: HashMap<String, usize, foldhash::fast::RandomState> = HashMap::default();
    ListPage::decode(result, "tools", |page, raw| {
        let tool = decode(raw, rule, &mut page.notes)?;
        match seen.get(&tool.name) {
            None => {
                seen.insert(tool.name.clone(), page.items.len());
                page.items.push(tool);
            }
            Some(&first) if page.items[first].same_as(&tool) => {}
            Some(_) => {
                let reason = "listed earlier with a different definition".to_owned();
                return Err(RejectedItem { name: Some(printable_excerpt(&tool.name)), reason });
            }
        }
        Ok(())
    })
}

impl<T> Default for ListPage<T> {
    fn default() -> Self {
        Self { items: Vec::new(), quarantined: Vec::new(), next_cursor: None, notes: Vec::new() }
    }
}

impl<T> ListPage<T> {
    /// Decodes a page; `add` adds one item to it.
    fn decode(
        result: &str,
        key: &'static str,
        mut add: impl FnMut(&mut Self, &RawValue) -> Result<(), RejectedItem>,
    ) -> Result<Self, DecodeError> {
        let envelope = RawObject::open(result)?;
        let RawList { items, left_out } = envelope.list(key)?;
        let mut page = Self::default();
        if left_out > 0 {
            let note = format!("`{key}` has more than {MAX_LIST_ITEMS} items; {left_out} omitted");
            page.notes.push(note);
        }
        page.next_cursor = match envelope.value("nextCursor") {
            // An empty cursor would lead to the first page again.
            Some(Value::String(cursor)) if cursor.is_empty() => None,
            Some(cursor @ Value::String(_)) => Some(cursor.to_string()),
            Some(cursor) => {
                let note = "`nextCursor` is not a string; it is sent back unchanged";
                page.notes.push(note.to_owned());
                Some(cursor.to_string())
            }
            None => None,
        };
        for (at, raw) in items.into_iter().enumerate() {
            if let Err(RejectedItem { name, reason }) = add(&mut page, raw) {
                let name = name.unwrap_or_else(|| format!("#{}", at + 1));
                page.quarantined.push(QuarantinedItem { name, reason });
            }
        }
        Ok(page)
    }
}

struct RejectedItem {
    name: Option<String>,
    reason: String,
}

fn take_name(raw: &RawValue, key: &str) -> Result<(String, Map<String, Value>), RejectedItem> {
    let text = raw.get();
    let nameless = |reason: String| RejectedItem { name: None, reason };
    // A definition that is too large or too deep to parse may still have a name.
    let unparsed = |reason: String| {
        let name = RawObject::open(text).ok().and_then(|object| object.value(key));
        RejectedItem { name: name.as_ref().and_then(Value::as_str).map(printable_excerpt), reason }
    };
    if text.len() > MAX_TOOL_BYTES {
        let bytes = text.len();
        let reason = format!("its definition has {bytes} bytes; the limit is {MAX_TOOL_BYTES}");
        return Err(unparsed(reason));
    }
    let value = parse_lenient(text).map_err(|error| unparsed(format!("invalid JSON: {error}")))?;
    let Value::Object(mut object) = value else {
        return Err(nameless(format!("expected an object, found {}", json_kind(text))));
    };
    match object.remove(key) {
        Some(Value::String(name)) if name.trim().is_empty() => {
            Err(nameless(format!("its `{key}` is empty")))
        }
        Some(Value::String(name)) if name.chars().any(char::is_control) => {
            let reason = format!("its `{key}` contains control characters");
            Err(RejectedItem { name: Some(printable_excerpt(&name)), reason })
        }
        Some(Value::String(name)) => Ok((name, object)),
        Some(_) => Err(nameless(format!("its `{key}` is not a string"))),
        None => Err(nameless(format!("it has no `{key}`"))),
    }
}

fn decode(
    raw: &RawValue,
    rule: HeaderMirroring,
    notes: &mut Vec<String>,
) -> Result<Tool, RejectedItem> {
    let (name, mut object) = take_name(raw, "name")?;
    let refuse = |reason: String| RejectedItem { name: Some(printable_excerpt(&name)), reason };
    let bytes = name.len();
    if bytes > MAX_NATIVE_NAME_BYTES {
        let reason = format!("its name has {bytes} bytes; the limit is {MAX_NATIVE_NAME_BYTES}");
        return Err(refuse(reason));
    }
    let mut note = |text: &str| notes.push(format!("tool `{}`: {text}", printable_excerpt(&name)));
    let input_schema = match object.remove("inputSchema") {
        Some(Value::Object(schema)) => Value::Object(schema),
        None | Some(Value::Null) => {
            note("it has no `inputSchema`; assuming no arguments");
            json!({"type": "object", "properties": {}})
        }
        Some(Value::Bool(true)) => {
            note("its `inputSchema` is `true`; assuming no arguments");
            json!({"type": "object", "properties": {}})
        }
        Some(other) => {
            let found = json_kind(&other.to_string());
            return Err(refuse(format!("its `inputSchema` must be an object, found {found}")));
        }
    };
    let output_schema = match object.remove("outputSchema") {
        None | Some(Value::Null) => None,
        Some(schema @ (Value::Object(_) | Value::Bool(_))) => Some(schema),
        Some(_) => {
            note("its `outputSchema` is not a schema and is ignored");
            None
        }
    };
    for schema in [Some(&input_schema), output_schema.as_ref()].into_iter().flatten() {
        if is_deeper_than(schema, MAX_SCHEMA_DEPTH) {
            let reason = format!("a schema is nested deeper than {MAX_SCHEMA_DEPTH} levels");
            return Err(refuse(reason));
        }
    }
    let header_params = match rule {
        HeaderMirroring::Mirror => header::header_params(&input_schema).map_err(refuse)?,
        HeaderMirroring::Ignore => Vec::new(),
    };
    let input_schema = Arc::new(input_schema);
    Ok(Tool {
        model_schema: ModelSchema::of(&input_schema),
        title: take_string(&mut object, "title"),
        description: take_string(&mut object, "description"),
        input_schema,
        output_schema,
        read_only: object.get("annotations").and_then(|hints| hints.get("readOnlyHint"))
            == Some(&Value::Bool(true)),
        runs_as_task: matches!(
            object.get("execution").and_then(|how| how.get("taskSupport")?.as_str()),
            Some("required" | "optional")
        ),
        header_params,
        raw: raw.to_owned(),
        name,
    })
}

/// Removes a string from an object; another type counts as absent.
pub(crate) fn take_string(object: &mut Map<String, Value>, key: &str) -> Option<String> {
    match object.remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn is_deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Object(_) | Value::Array(_) if levels == 0 => true,
        Value::Object(object) => object.values().any(|inner| is_deeper_than(inner, levels - 1)),
        Value::Array(list) => list.iter().any(|inner| is_deeper_than(inner, levels - 1)),
        _ => false,
    }
}

fn canonical_json(value: &Value) -> String {
    fn write(value: &Value, out: &mut String) {
        match value {
            Value::Object(object) => {
                let mut keys: Vec<&String> = object.keys().collect();
                keys.sort_unstable();
                out.push('{');
                for key in keys {
                    out.push_str(&Value::from(key.as_str()).to_string());
                    out.push(':');
                    write(&object[key], out);
                    out.push(',');
                }
                out.push('}');
            }
            Value::Array(list) => {
                out.push('[');
                for inner in list {
                    write(inner, out);
                    out.push(',');
                }
                out.push(']');
            }
            scalar => out.push_str(&scalar.to_string()),
        }
    }
    let mut out = String::new();
    write(value, &mut out);
    out
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::any_json;
