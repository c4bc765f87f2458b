//! The tools a server lists, read one at a time: a bad one is set aside and named, the others
//! live.
//!
//! What the server said stays as it said it. [`crate::schema`] makes from it what strict model
//! APIs take, and [`crate::registry`] gives it a name.

mod envelope;
mod header;
mod listing;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::schema::Offer;

pub use envelope::{DecodeError, MAX_LIST_ITEMS};
pub(crate) use envelope::{Envelope, Items, clip, kind_of, list, read};
pub use header::{HeaderParam, header_value};
pub use listing::{
    Prompt, PromptArgument, Resource, ResourceTemplate, prompts_page, resources_page,
    templates_page,
};

/// The largest definition of one tool, as JSON.
pub const MAX_TOOL_BYTES: usize = 256 * 1024;
/// The longest native name.
pub const MAX_NATIVE_NAME_BYTES: usize = 512;
/// How deep the JSON of a schema may nest.
pub const MAX_SCHEMA_DEPTH: usize = 64;

/// Whether `x-mcp-header` annotations count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderRule {
    /// Streamable HTTP of the stateless era: parameters are mirrored, and an invalid annotation
    /// sets the tool aside.
    Mirror,
    /// Every other transport and era.
    Ignore,
}

/// One page of a list.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The usable items, in the server's order.
    pub items: Vec<T>,
    /// The others.
    pub quarantined: Vec<Quarantined>,
    /// Where the next page begins, if there is one: JSON text, to be given back as it came.
    pub next_cursor: Option<String>,
    /// How long the page may be kept.
    pub ttl_ms: Option<u64>,
    /// What was odd but could be put right.
    pub notes: Vec<String>,
}

/// An item that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// Its name, or `#3` by its position where it has none.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
}

/// A tool as its server describes it.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The server's own name of it.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it does, in the server's words.
    pub description: Option<String>,
    /// What it takes: an object, as given.
    pub input_schema: Arc<Value>,
    /// What it gives, as given.
    pub output_schema: Option<Value>,
    /// What the server hints about it.
    pub annotations: Annotations,
    /// The parameters to mirror into headers; empty under [`HeaderRule::Ignore`].
    pub header_params: Vec<HeaderParam>,
    /// The whole definition.
    pub raw: Box<RawValue>,
    /// What models are offered of the input schema.
    pub(crate) offer: Offer,
}

/// A server's hints about a tool. Only a real JSON `true` or `false` counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy.
    pub destructive: Option<bool>,
    /// A second call with the same arguments adds nothing.
    pub idempotent: Option<bool>,
    /// It reaches beyond its server.
    pub open_world: Option<bool>,
    /// A name for people.
    pub title: Option<String>,
}

impl Tool {
    /// Whether the server says that it only reads. Silence and nonsense mean no.
    pub fn read_only(&self) -> bool {
        self.annotations.read_only == Some(true)
    }

    /// The `Mcp-Param-*` headers of a call with these arguments.
    pub fn param_headers(&self, arguments: &Value) -> Vec<(String, String)> {
        self.header_params.iter().filter_map(|param| param.header(arguments)).collect()
    }

    /// SHA-256, in hexadecimal, of what an approval rests on: description, both schemas, and
    /// whether it claims to be read-only. The order of keys does not matter.
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
        field(Some(canonical(&self.input_schema)));
        field(self.output_schema.as_ref().map(canonical));
        crate::name::hex(&hash.finalize())
    }

    /// Whether both are the same definition.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        self.raw.get() == other.raw.get() || read(self.raw.get()).ok() == read(other.raw.get()).ok()
    }
}

/// Reads one page of `tools/list`.
pub fn tools_page(result: &str, rule: HeaderRule) -> Result<Page<Tool>, DecodeError> {
    let envelope = Envelope::open(result)?;
    let Items { items, left_out } = envelope.list("tools")?;
    let mut page = Page::around(&envelope, left_out, "tools");
    let mut seen: HashMap<String, usize, foldhash::fast::RandomState> = HashMap::default();
    for (at, raw) in items.into_iter().enumerate() {
        let tool = match decode(raw, rule, &mut page.notes) {
            Ok(tool) => tool,
            Err(Refused { name, reason }) => {
                let name = name.unwrap_or_else(|| format!("#{}", at + 1));
                page.quarantined.push(Quarantined { name, reason });
                continue;
            }
        };
        match seen.get(&tool.name) {
            None => {
                seen.insert(tool.name.clone(), page.items.len());
                page.items.push(tool);
            }
            Some(&first) if page.items[first].same_as(&tool) => {}
            Some(_) => page.quarantined.push(Quarantined {
                name: clip(&tool.name),
                reason: "listed before with another definition".to_owned(),
            }),
        }
    }
    Ok(page)
}

impl<T> Page<T> {
    /// A page with what the result says about itself.
    fn around(envelope: &Envelope<'_>, left_out: usize, key: &str) -> Self {
        let mut notes = Vec::new();
        if left_out > 0 {
            notes.push(format!("`{key}` has over {MAX_LIST_ITEMS} items; {left_out} are left out"));
        }
        let next_cursor = match envelope.value("nextCursor") {
            // An empty cursor would lead to the first page again.
            Some(Value::String(cursor)) if cursor.is_empty() => None,
            Some(cursor @ Value::String(_)) => Some(cursor.to_string()),
            Some(cursor) => {
                notes.push("`nextCursor` is not a string; it is given back as it came".to_owned());
                Some(cursor.to_string())
            }
            None => None,
        };
        Self {
            items: Vec::new(),
            quarantined: Vec::new(),
            next_cursor,
            ttl_ms: envelope.ttl_ms(),
            notes,
        }
    }
}

/// Why an item was not taken, and its name as far as it has one.
struct Refused {
    name: Option<String>,
    reason: String,
}

/// Reads one item as an object, and takes the name that stands under `key`.
fn named(raw: &RawValue, key: &str) -> Result<(String, Map<String, Value>), Refused> {
    let text = raw.get();
    let refuse = |name: Option<&str>, reason: String| Refused { name: name.map(clip), reason };
    if text.len() > MAX_TOOL_BYTES {
        return Err(refuse(
            name_of_large(text, key).as_deref(),
            format!("its definition has {} bytes, over {MAX_TOOL_BYTES}", text.len()),
        ));
    }
    let mut object = match read(text) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Err(refuse(None, format!("it is {}, not an object", kind_of(text)))),
        Err(error) => {
            return Err(refuse(
                name_of_large(text, key).as_deref(),
                format!("unreadable: {error}"),
            ));
        }
    };
    match object.remove(key) {
        Some(Value::String(name)) if name.trim().is_empty() => {
            Err(refuse(None, format!("its `{key}` is empty")))
        }
        Some(Value::String(name)) if name.chars().any(char::is_control) => {
            Err(refuse(Some(&name), format!("its `{key}` has control characters")))
        }
        Some(Value::String(name)) => Ok((name, object)),
        Some(_) => Err(refuse(None, format!("its `{key}` is not a string"))),
        None => Err(refuse(None, format!("it has no `{key}`"))),
    }
}

/// The name in a definition that is too large or too deep to be read as a whole.
fn name_of_large(text: &str, key: &str) -> Option<String> {
    match Envelope::open(text).ok()?.value(key)? {
        Value::String(name) => Some(name),
        _ => None,
    }
}

fn decode(raw: &RawValue, rule: HeaderRule, notes: &mut Vec<String>) -> Result<Tool, Refused> {
    let (name, mut object) = named(raw, "name")?;
    let refuse = |reason: String| Refused { name: Some(clip(&name)), reason };
    if name.len() > MAX_NATIVE_NAME_BYTES {
        return Err(refuse(format!(
            "its name has {} bytes, over {MAX_NATIVE_NAME_BYTES}",
            name.len()
        )));
    }
    if object.get("execution").and_then(|how| how.get("taskSupport")) == Some(&json!("required")) {
        return Err(refuse("it only runs as a task, which this client does not do".to_owned()));
    }
    let mut note = |text: &str| notes.push(format!("tool `{}`: {text}", clip(&name)));
    let input_schema = match object.remove("inputSchema") {
        Some(Value::Object(schema)) => Value::Object(schema),
        None | Some(Value::Null) => {
            note("it has no `inputSchema`; it is taken to need no arguments");
            empty_schema()
        }
        Some(Value::Bool(true)) => {
            note("its `inputSchema` is `true`; it is taken to need no arguments");
            empty_schema()
        }
        Some(other) => {
            let found = kind_of(&other.to_string());
            return Err(refuse(format!("its `inputSchema` is {found}, not an object")));
        }
    };
    let output_schema = match object.remove("outputSchema") {
        None | Some(Value::Null) => None,
        Some(schema @ (Value::Object(_) | Value::Bool(_))) => Some(schema),
        Some(_) => {
            note("its `outputSchema` is no schema and is ignored");
            None
        }
    };
    for schema in [Some(&input_schema), output_schema.as_ref()].into_iter().flatten() {
        if deeper_than(schema, MAX_SCHEMA_DEPTH) {
            return Err(refuse(format!("a schema nests deeper than {MAX_SCHEMA_DEPTH} levels")));
        }
    }
    let header_params = match rule {
        HeaderRule::Mirror => header::header_params(&input_schema).map_err(refuse)?,
        HeaderRule::Ignore => Vec::new(),
    };
    let input_schema = Arc::new(input_schema);
    Ok(Tool {
        offer: Offer::of(&input_schema),
        title: string(&mut object, "title"),
        description: string(&mut object, "description"),
        input_schema,
        output_schema,
        annotations: annotations(object.remove("annotations")),
        header_params,
        raw: raw.to_owned(),
        name,
    })
}

fn annotations(value: Option<Value>) -> Annotations {
    let Some(Value::Object(mut hints)) = value else { return Annotations::default() };
    let flag = |key: &str| hints.get(key).and_then(Value::as_bool);
    Annotations {
        read_only: flag("readOnlyHint"),
        destructive: flag("destructiveHint"),
        idempotent: flag("idempotentHint"),
        open_world: flag("openWorldHint"),
        title: string(&mut hints, "title"),
    }
}

/// Takes a string out of an object; anything else counts as absent.
fn string(object: &mut Map<String, Value>, key: &str) -> Option<String> {
    match object.remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn empty_schema() -> Value {
    json!({"type": "object", "properties": {}})
}

fn deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Object(object) => {
            levels == 0 || object.values().any(|inner| deeper_than(inner, levels - 1))
        }
        Value::Array(list) => {
            levels == 0 || list.iter().any(|inner| deeper_than(inner, levels - 1))
        }
        _ => false,
    }
}

/// Compact JSON with sorted keys.
fn canonical(value: &Value) -> String {
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
