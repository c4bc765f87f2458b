//! A request that an authorization server received.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RecordedRequest {
    /// The server that received it: `issuer`, `mcp` or `documents`; for
    /// [`FaultyAuthServer`](super::FaultyAuthServer), `main` or `other`.
    pub server: String,
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The fields of a form or the members of a JSON object; empty when the body was neither.
    #[serde(default)]
    pub form: Value,
}

impl RecordedRequest {
    /// The header of this name, which is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// A field of the form, or else of the query.
    pub fn field(&self, name: &str) -> Option<String> {
        let in_form = self.form[name].as_str().map(str::to_owned);
        in_form.or_else(|| parameter(&self.path, name))
    }

    pub fn route(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }
}

pub(super) fn parameter(address: &str, name: &str) -> Option<String> {
    let query = address.split_once('?')?.1.split('#').next()?;
    let mut fields = form_urlencoded::parse(query.as_bytes());
    fields.find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
}
