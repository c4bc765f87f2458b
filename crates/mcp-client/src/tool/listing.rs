//! The prompts, resources and resource templates a server lists.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::envelope::{DecodeError, Envelope, Items};
use super::{Page, Quarantined, Refused, named, string};

/// A prompt as its server describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The server's own name of it.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What it takes.
    pub arguments: Vec<PromptArgument>,
}

/// One argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether the prompt needs it.
    pub required: bool,
}

/// A resource as its server describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Where it is.
    pub uri: String,
    /// Its name; the address where the server gives none.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it holds.
    pub description: Option<String>,
    /// Of which type it is.
    pub mime_type: Option<String>,
    /// How many bytes it has.
    pub size: Option<u64>,
}

/// A family of resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceTemplate {
    /// The addresses, with variables (RFC 6570).
    pub uri_template: String,
    /// Its name; the template where the server gives none.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Of which type its resources are.
    pub mime_type: Option<String>,
}

/// Reads one page of `prompts/list`.
pub fn prompts_page(result: &str) -> Result<Page<Prompt>, DecodeError> {
    page(result, "prompts", |raw| {
        let (name, mut object) = named(raw, "name")?;
        Ok(Prompt {
            name,
            title: string(&mut object, "title"),
            description: string(&mut object, "description"),
            arguments: arguments(object.remove("arguments")),
        })
    })
}

/// Reads one page of `resources/list`.
pub fn resources_page(result: &str) -> Result<Page<Resource>, DecodeError> {
    page(result, "resources", |raw| {
        let (uri, mut object) = named(raw, "uri")?;
        Ok(Resource {
            name: name_or(&mut object, &uri),
            uri,
            title: string(&mut object, "title"),
            description: string(&mut object, "description"),
            mime_type: string(&mut object, "mimeType"),
            size: object.get("size").and_then(Value::as_u64),
        })
    })
}

/// Reads one page of `resources/templates/list`.
pub fn templates_page(result: &str) -> Result<Page<ResourceTemplate>, DecodeError> {
    page(result, "resourceTemplates", |raw| {
        let (uri_template, mut object) = named(raw, "uriTemplate")?;
        Ok(ResourceTemplate {
            name: name_or(&mut object, &uri_template),
            uri_template,
            title: string(&mut object, "title"),
            description: string(&mut object, "description"),
            mime_type: string(&mut object, "mimeType"),
        })
    })
}

fn page<T>(
    result: &str,
    key: &'static str,
    decode: impl Fn(&RawValue) -> Result<T, Refused>,
) -> Result<Page<T>, DecodeError> {
    let envelope = Envelope::open(result)?;
    let Items { items, left_out } = envelope.list(key)?;
    let mut page = Page::around(&envelope, left_out, key);
    for (at, raw) in items.into_iter().enumerate() {
        match decode(raw) {
            Ok(item) => page.items.push(item),
            Err(Refused { name, reason }) => page
                .quarantined
                .push(Quarantined { name: name.unwrap_or_else(|| format!("#{}", at + 1)), reason }),
        }
    }
    Ok(page)
}

fn name_or(object: &mut Map<String, Value>, address: &str) -> String {
    string(object, "name").filter(|name| !name.is_empty()).unwrap_or_else(|| address.to_owned())
}

/// The arguments that have a name; the others cannot be given and are left out.
fn arguments(value: Option<Value>) -> Vec<PromptArgument> {
    let Some(Value::Array(list)) = value else { return Vec::new() };
    list.into_iter()
        .filter_map(|argument| {
            let Value::Object(mut argument) = argument else { return None };
            Some(PromptArgument {
                name: string(&mut argument, "name")?,
                description: string(&mut argument, "description"),
                required: argument.get("required") == Some(&Value::Bool(true)),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_live_beside_broken_ones() {
        let page = prompts_page(
            r#"{"prompts":[{"name":"a","arguments":[{"name":"x","required":true},{"required":true},7]},
                {"title":"nameless"},"text",{"name":"b","description":null}],"nextCursor":"n"}"#,
        )
        .unwrap();
        let names: Vec<&str> = page.items.iter().map(|prompt| prompt.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        let x = PromptArgument { name: "x".into(), description: None, required: true };
        assert_eq!(page.items[0].arguments, [x]);
        let set_aside: Vec<&str> = page.quarantined.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(set_aside, ["#2", "#3"]);
        assert_eq!(page.next_cursor.as_deref(), Some("\"n\""));
    }

    #[test]
    fn resources_and_templates_are_named_by_their_address_if_need_be() {
        let page = resources_page(
            r#"{"resources":[{"uri":"file:///a","size":3,"mimeType":"text/plain"},{"name":"lost"}]}"#,
        )
        .unwrap();
        assert_eq!(page.items[0].name, "file:///a");
        assert_eq!(page.items[0].size, Some(3));
        assert_eq!(page.quarantined[0].reason, "it has no `uri`");
        let page =
            templates_page(r#"{"resourceTemplates":[{"uriTemplate":"x://{id}","name":"x"}]}"#);
        assert_eq!(page.unwrap().items[0].name, "x");
    }
}
