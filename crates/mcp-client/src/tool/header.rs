//! Parameters that are mirrored into `Mcp-Param-*` headers.
//!
//! An `x-mcp-header` annotation is valid only on a primitive property that is reachable from the
//! root through `properties`; elsewhere it makes the tool invalid for Streamable HTTP.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::raw_object::printable_excerpt;

const ANNOTATION: &str = "x-mcp-header";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderParam {
    /// The header name without `Mcp-Param-`.
    pub header: String,
    /// The property names that lead to the value.
    pub path: Vec<String>,
}

impl HeaderParam {
    /// The header and its encoded value, if the arguments have a value at the path.
    pub(super) fn header(&self, arguments: &Value) -> Option<(String, String)> {
        let value = self.path.iter().try_fold(arguments, |at, name| at.get(name))?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(number) => match number.as_f64() {
                // `42.0` is the integer 42.
                Some(float) if number.is_f64() && float.fract() == 0.0 => format!("{float:.0}"),
                _ => number.to_string(),
            },
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((format!("Mcp-Param-{}", self.header), header_value(&text)))
    }
}

/// A header value: verbatim if safe, else `=?base64?...?=`.
pub fn header_value(value: &str) -> String {
    let printable = value.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    let padded = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    let looks_encoded = value.starts_with("=?base64?") && value.ends_with("?=");
    if printable && !padded && !looks_encoded {
        value.to_owned()
    } else {
        format!("=?base64?{}?=", STANDARD.encode(value))
    }
}

pub(super) fn header_params(schema: &Value) -> Result<Vec<HeaderParam>, String> {
    let mut found = Vec::new();
    if let Value::Object(root) = schema {
        if root.contains_key(ANNOTATION) {
            return Err(format!("`{ANNOTATION}` must be on a property, not on the schema itself"));
        }
        walk(root, &mut Vec::new(), &mut found)?;
    }
    for (at, one) in found.iter().enumerate() {
        if found[..at].iter().any(|other| other.header.eq_ignore_ascii_case(&one.header)) {
            return Err(format!("`{ANNOTATION}` uses `{}` twice", printable_excerpt(&one.header)));
        }
    }
    Ok(found)
}

fn walk(
    schema: &Map<String, Value>,
    path: &mut Vec<String>,
    found: &mut Vec<HeaderParam>,
) -> Result<(), String> {
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    let Value::Object(property) = property else { continue };
                    path.push(name.clone());
                    if let Some(annotation) = property.get(ANNOTATION) {
                        let header =
                            checked_header_name(annotation, property).map_err(|reason| {
                                format!("property `{}`: {reason}", printable_excerpt(name))
                            })?;
                        found.push(HeaderParam { header, path: path.clone() });
                    }
                    walk(property, path, found)?;
                    path.pop();
                }
            }
            (ANNOTATION, _) => {}
            (keyword, value) => unreachable_annotation(keyword, value)?,
        }
    }
    Ok(())
}

fn checked_header_name(
    annotation: &Value,
    property: &Map<String, Value>,
) -> Result<String, String> {
    let Value::String(header) = annotation else {
        return Err(format!("`{ANNOTATION}` is not a string"));
    };
    if header.is_empty() {
        return Err(format!("`{ANNOTATION}` is empty"));
    }
    // `tchar` of RFC 9110.
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !header.bytes().all(is_token) {
        return Err(format!(
            "`{ANNOTATION}` is not a valid header name: `{}`",
            printable_excerpt(header)
        ));
    }
    let primitive = |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "boolean"));
    let permitted = match property.get("type") {
        Some(Value::Array(kinds)) => {
            let mut others = kinds.iter().filter(|kind| kind.as_str() != Some("null"));
            others.next().is_some_and(primitive) && others.next().is_none()
        }
        Some(kind) => primitive(kind),
        None => false,
    };
    if permitted {
        Ok(header.clone())
    } else {
        Err(format!("`{ANNOTATION}` is on a property that is not a string, integer or boolean"))
    }
}

/// Rejects annotations below other keywords than `properties`.
fn unreachable_annotation(keyword: &str, value: &Value) -> Result<(), String> {
    match (keyword, value) {
        // Data, not schemas.
        ("default" | "const" | "enum" | "examples" | "example", _) => Ok(()),
        (
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
            | "dependencies",
            Value::Object(schemas),
        ) => schemas.values().try_for_each(|schema| unreachable_annotation("", schema)),
        (_, Value::Object(schema)) => {
            if schema.contains_key(ANNOTATION) {
                return Err(format!(
                    "`{ANNOTATION}` must be reachable through `properties` only, found below `{}`",
                    printable_excerpt(keyword)
                ));
            }
            schema.iter().try_for_each(|(keyword, value)| unreachable_annotation(keyword, value))
        }
        (keyword, Value::Array(schemas)) => {
            schemas.iter().try_for_each(|schema| unreachable_annotation(keyword, schema))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
