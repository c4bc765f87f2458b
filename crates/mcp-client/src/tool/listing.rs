//! Decoding of prompts, resources and resource templates.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::raw_object::DecodeError;
use super::{ListPage, RejectedItem, take_name};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prompt {
    pub name: String,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Those without a name are skipped.
    #[serde(deserialize_with = "usable_items")]
    pub arguments: Vec<PromptArgument>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptArgument {
    pub name: String,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub required: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Resource {
    pub uri: String,
    /// The URI if the server names none.
    #[serde(deserialize_with = "lenient")]
    pub name: String,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceTemplate {
    pub uri_template: String,
    /// The template if the server names none.
    #[serde(deserialize_with = "lenient")]
    pub name: String,
    #[serde(deserialize_with = "lenient", skip_serializing)]
    pub title: Option<String>,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// Decodes one page of `prompts/list`.
pub fn prompts_page(result: &str) -> Result<ListPage<Prompt>, DecodeError> {
    page(result, "prompts", "name")
}

/// Decodes one page of `resources/list`.
pub fn resources_page(result: &str) -> Result<ListPage<Resource>, DecodeError> {
    let mut page: ListPage<Resource> = page(result, "resources", "uri")?;
    for unnamed in page.items.iter_mut().filter(|resource| resource.name.is_empty()) {
        unnamed.name.clone_from(&unnamed.uri);
    }
    Ok(page)
}

/// Decodes one page of `resources/templates/list`.
pub fn templates_page(result: &str) -> Result<ListPage<ResourceTemplate>, DecodeError> {
    let mut page: ListPage<ResourceTemplate> = page(result, "resourceTemplates", "uriTemplate")?;
    for unnamed in page.items.iter_mut().filter(|template| template.name.is_empty()) {
        unnamed.name.clone_from(&unnamed.uri_template);
    }
    Ok(page)
}

fn page<T: DeserializeOwned>(
    result: &str,
    key: &'static str,
    name_key: &str,
) -> Result<ListPage<T>, DecodeError> {
    ListPage::decode(result, key, |page, raw| {
        let (name, mut object) = take_name(raw, name_key)?;
        object.insert(name_key.to_owned(), name.into());
        let item = serde_json::from_value(Value::Object(object));
        page.items.push(item.map_err(|error: serde_json::Error| RejectedItem {
            name: None,
            reason: error.to_string(),
        })?);
        Ok(())
    })
}

/// A value of another type counts as absent.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

fn usable_items<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let items: Vec<Value> = lenient(deserializer)?;
    Ok(items.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect())
}

#[cfg(test)]
mod tests;
