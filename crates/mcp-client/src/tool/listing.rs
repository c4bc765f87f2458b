//! Decoding of prompts, resources and resource templates.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::raw_object::DecodeError;
use super::{ListPage, RejectedItem, take_name, take_string};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Prompt {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub arguments: Vec<PromptArgument>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PromptArgument {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    pub uri: String,
    /// The URI if the server names none.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    pub uri_template: String,
    /// The template if the server names none.
    pub name: String,
    #[serde(skip)]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// Decodes one page of `prompts/list`.
pub fn prompts_page(result: &str) -> Result<ListPage<Prompt>, DecodeError> {
    page(result, "prompts", |raw| {
        let (name, mut object) = take_name(raw, "name")?;
        Ok(Prompt {
            name,
            title: take_string(&mut object, "title"),
            description: take_string(&mut object, "description"),
            arguments: arguments(object.remove("arguments")),
        })
    })
}

/// Decodes one page of `resources/list`.
pub fn resources_page(result: &str) -> Result<ListPage<Resource>, DecodeError> {
    page(result, "resources", |raw| {
        let (uri, mut object) = take_name(raw, "uri")?;
        Ok(Resource {
            name: name_or(&mut object, &uri),
            uri,
            title: take_string(&mut object, "title"),
            description: take_string(&mut object, "description"),
            mime_type: take_string(&mut object, "mimeType"),
            size: object.get("size").and_then(Value::as_u64),
        })
    })
}

/// Decodes one page of `resources/templates/list`.
pub fn templates_page(result: &str) -> Result<ListPage<ResourceTemplate>, DecodeError> {
    page(result, "resourceTemplates", |raw| {
        let (uri_template, mut object) = take_name(raw, "uriTemplate")?;
        Ok(ResourceTemplate {
            name: name_or(&mut object, &uri_template),
            uri_template,
            title: take_string(&mut object, "title"),
            description: take_string(&mut object, "description"),
            mime_type: take_string(&mut object, "mimeType"),
        })
    })
}

fn page<T>(
    result: &str,
    key: &'static str,
    decode: impl Fn(&RawValue) -> Result<T, RejectedItem>,
) -> Result<ListPage<T>, DecodeError> {
    ListPage::decode(result, key, |page, raw| {
        page.items.push(decode(raw)?);
        Ok(())
    })
}

fn name_or(object: &mut Map<String, Value>, address: &str) -> String {
    take_string(object, "name")
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| address.to_owned())
}

/// Arguments without a name are skipped.
fn arguments(value: Option<Value>) -> Vec<PromptArgument> {
    let Some(Value::Array(list)) = value else { return Vec::new() };
    list.into_iter()
        .filter_map(|argument| {
            let Value::Object(mut argument) = argument else { return None };
            Some(PromptArgument {
                name: take_string(&mut argument, "name")?,
                description: take_string(&mut argument, "description"),
                required: argument.get("required") == Some(&Value::Bool(true)),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests;
