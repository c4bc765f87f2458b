//! A request as a server remembers it.

use std::collections::BTreeMap;

use serde_json::Value;

/// A request that came to a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Which of the servers it came to: `issuer`, `mcp` or `documents`; of [`Faulty`](super::Faulty),
    /// `main` or `other`.
    pub server: String,
    /// Its method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The fields of a form, or the JSON object that it brought; empty when there was neither.
    pub form: Value,
}

impl Seen {
    /// A header; its name is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// A field of the form, or else of the query.
    pub fn field(&self, name: &str) -> Option<String> {
        let in_form = self.form[name].as_str().map(str::to_owned);
        in_form.or_else(|| parameter(&self.path, name))
    }

    /// Its path without the query.
    pub fn route(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    pub(super) fn from_json(record: &Value) -> Self {
        let word = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        let headers = record["headers"].as_object().into_iter().flatten();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Self {
            server: word("server"),
            method: word("method"),
            path: word("path"),
            headers: headers.map(|(name, value)| (name.clone(), text(value))).collect(),
            form: record["form"].clone(),
        }
    }
}

/// A parameter of the query of an address.
pub(super) fn parameter(address: &str, name: &str) -> Option<String> {
    let query = address.split_once('?')?.1.split('#').next()?;
    let mut fields = form_urlencoded::parse(query.as_bytes());
    fields.find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
}
