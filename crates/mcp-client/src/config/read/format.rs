//! Readers of values with a format of their own.

use ::http::{HeaderName, HeaderValue};
use serde_json::{Value as Json, json};
use settings::{Field, Format, Problem, Reader, Text, Value, switch};

use super::super::MAX_LAUNCH_ITEMS;
use crate::url::fault_of_address;

const PEM: &str = "the path of a PEM file";

pub(super) const FORMATS: &[Format] = &[
    ("args", args),
    ("auth", auth),
    ("client-cert", client_cert),
    ("filter", filter),
    ("header", header),
    ("header-name", header_name),
    ("lifecycle", lifecycle),
    ("switchable", switchable),
    ("tools", tools),
    ("url", url),
    ("variable", variable),
    ("variable-name", variable_name),
    ("verify", verify),
];

fn url(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let text = reader.string(field, "an http or https URL")?;
    let value = text.value().trim().to_owned();
    let text = reader.secrets.embedded(text.with_value(value));
    let has_reference = text.value().contains("${");
    // Disabled entries need not resolve.
    if !reader.enabled && has_reference {
        return Some(text.into());
    }
    let Some(why) = fault_of_address(text.value()) else { return Some(text.into()) };
    let message = format!("must be an http or https URL with a host: {why}");
    reader.refuse_hinted(
        field,
        message,
        has_reference.then_some("set the variable that it refers to"),
    )
}

fn header_name(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let Value::String(name) = &field.node.value else { return None };
    let is_name = HeaderName::from_bytes(name.as_bytes()).is_ok();
    reader.accept(field, name.as_str(), is_name, "is not a valid header name")
}

fn header(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let text = named(reader, field)?;
    if HeaderValue::from_str(text.value()).is_err() {
        let message =
            "the value contains a character that is not allowed in a header, such as a line break";
        return reader.refuse(field, message);
    }
    Some(hidden(reader, field, text))
}

fn variable_name(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let Value::String(name) = &field.node.value else { return None };
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    let message = "a variable name must not be empty or contain `=`";
    reader.accept(field, name.as_str(), is_name, message)
}

fn variable(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let text = named(reader, field)?;
    let text = without_nul(reader, field, text)?;
    Some(hidden(reader, field, text))
}

fn named(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Text> {
    if field.node.is_null() {
        let problem = Problem::warning(field.owner, "has no value and is ignored");
        reader.report(&field.key, problem.hint("write \"\" for an empty value"));
        return None;
    }
    reader.string_like(field)
}

/// The name decides whether the value is a secret.
fn hidden(reader: &mut Reader<'_>, field: &Field<'_>, text: Text) -> Json {
    let name = field.key.split_once('.').map_or(field.key.as_str(), |(_, name)| name);
    reader.secrets.named(name, text).into()
}

fn without_nul(reader: &mut Reader<'_>, field: &Field<'_>, text: Text) -> Option<Text> {
    if text.value().contains('\0') {
        return reader.refuse(field, "must not contain a NUL character");
    }
    Some(text)
}

fn args(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let args = match &field.node.value {
        Value::List(items) if items.len() > MAX_LAUNCH_ITEMS => {
            return reader.refuse(field, format!("must have at most {MAX_LAUNCH_ITEMS} arguments"));
        }
        Value::List(items) => {
            let mut args = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                let field = field.item(index, item);
                let text = reader.string_like(&field);
                args.extend(text.and_then(|text| without_nul(reader, &field, text)));
            }
            args
        }
        Value::String(line) => args_of_line(reader, field, line)?,
        _ => {
            let Some(text) = reader.scalar(field) else {
                let kind = field.node.kind();
                return reader.refuse(field, format!("must be a list of strings, found {kind}"));
            };
            vec![text]
        }
    };
    Some(args.into())
}

/// Arguments in one string: a JSON list, or words as a shell would split them. Split before
/// resolving, so that the value of a variable never becomes several arguments.
fn args_of_line(reader: &mut Reader<'_>, field: &Field<'_>, line: &str) -> Option<Vec<Text>> {
    let words = if line.trim_start().starts_with('[') {
        let Ok(words) = serde_json::from_str::<Vec<Json>>(line) else {
            let message = "a string that starts with `[` must be a JSON list of strings";
            return reader.refuse(field, message);
        };
        let word = |word| match word {
            Json::String(word) => Some(word),
            Json::Number(number) => Some(number.to_string()),
            Json::Bool(value) => Some(value.to_string()),
            _ => None,
        };
        let words: Option<Vec<String>> = words.into_iter().map(word).collect();
        words.ok_or("the JSON list must contain only strings")
    } else {
        shell_words::split(line).map_err(|_| "unclosed quote")
    };
    match words {
        Ok(words) if words.len() > MAX_LAUNCH_ITEMS => {
            reader.refuse(field, format!("must have at most {MAX_LAUNCH_ITEMS} arguments"))
        }
        Ok(words) => {
            let resolved = words.iter().filter_map(|word| {
                let text = reader.resolve(field, word);
                without_nul(reader, field, text)
            });
            Some(resolved.collect())
        }
        Err(why) => {
            let message = format!("cannot be split into arguments: {why}");
            reader.refuse_hinted(field, message, "write a list with one argument per item")
        }
    }
}

fn lifecycle(reader: &mut Reader<'_>, schema: &Json, field: &Field<'_>) -> Option<Json> {
    if matches!(field.node.value, Value::Map(_)) {
        return reader.by_type(schema, field);
    }
    let kind = field.node.kind();
    reader.warn(field, format!("must be a mapping, found {kind}; the value is ignored"));
    None
}

fn verify(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let wanted = "true, false or the path of a PEM file";
    let (meant, path) = match &field.node.value {
        Value::Bool(..) | Value::Number(..) => (reader.bool_like(field), None),
        // Words for a switch count here too, also from a variable.
        _ => {
            let path = reader.path(field, wanted)?;
            (switch(path.value()), Some(path))
        }
    };
    match (meant, path) {
        (Some(true), _) => Some("system".into()),
        (Some(false), _) => Some("off".into()),
        (None, Some(path)) => Some(json!({"bundle": Json::from(path)})),
        (None, None) => {
            reader.refuse(field, format!("must be {wanted}, found {}", field.node.kind()))
        }
    }
}

/// A certificate alone, or a list with its key and optionally the key's password.
fn client_cert(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let Value::List(items) = &field.node.value else {
        let wanted = "the path of a PEM file or a list of two or three strings";
        let cert = reader.path(field, wanted)?;
        return Some(json!({"cert": Json::from(cert)}));
    };
    let (cert, key, password) = match items.as_slice() {
        [cert, key] => (cert, key, None),
        [cert, key, password] => (cert, key, Some(password)),
        _ => {
            let found = items.len();
            let message = format!(
                "must be [certificate, key] or [certificate, key, password], found a list of \
                 {found}"
            );
            return reader.refuse(field, message);
        }
    };
    let cert = reader.path(&field.item(0, cert), PEM);
    let key = reader.path(&field.item(1, key), PEM);
    let password = match password {
        Some(node) => Some(self::password(reader, &field.item(2, node))?),
        None => None,
    };
    let (cert, key, password) = (Json::from(cert?), Json::from(key?), password.map(Json::from));
    Some(json!({"cert": cert, "key": key, "password": password}))
}

fn password(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Text> {
    let Value::String(_) = &field.node.value else {
        let kind = field.node.kind();
        return reader.refuse(field, format!("the password must be a string, found {kind}"));
    };
    let text = reader.scalar(field)?;
    Some(reader.secrets.whole("password of client_cert", text))
}

fn auth(reader: &mut Reader<'_>, _: &Json, field: &Field<'_>) -> Option<Json> {
    let text = reader.scalar(field);
    if text.is_some_and(|text| text.value().trim().eq_ignore_ascii_case("oauth")) {
        return Some("oauth".into());
    }
    // The value may be a token: it is not quoted.
    let found = match field.node.kind() {
        "a string" => "a different string",
        other => other,
    };
    let hint = "omit it to authenticate with `headers` or a certificate";
    reader.refuse_hinted(field, format!("must be `oauth`, found {found}"), hint)
}

/// The `tools` mapping; a bare string or list is its `include`.
fn tools(reader: &mut Reader<'_>, schema: &Json, field: &Field<'_>) -> Option<Json> {
    let include = match &field.node.value {
        Value::Map(_) => return reader.by_type(schema, field),
        Value::String(names) => {
            let names = reader.resolve(field, names);
            let names = names.value().split(|c: char| c == ',' || c.is_whitespace());
            names.filter(|name| !name.is_empty()).collect()
        }
        Value::List(_) => reader.by_type(&schema["properties"]["include"], field)?,
        _ => {
            let kind = field.node.kind();
            return reader
                .refuse(field, format!("must be a mapping, a string or a list, found {kind}"));
        }
    };
    Some(json!({"include": include}))
}

/// Names and globs. An invalid one rejects the server: a filter must not fail open.
fn filter(reader: &mut Reader<'_>, schema: &Json, field: &Field<'_>) -> Option<Json> {
    if matches!(&field.node.value, Value::String(name) if name.contains(',')) {
        reader.warn(field, "a string is a single name or glob; use a list for several");
    }
    reader.by_type(schema, field)
}

/// A mapping that may be given as a bare switch, which is its `enabled`. Anything else rejects
/// the server: it must not run with a feature on that was meant to be off.
fn switchable(reader: &mut Reader<'_>, schema: &Json, field: &Field<'_>) -> Option<Json> {
    if matches!(field.node.value, Value::Map(_)) {
        return reader.by_type(schema, field);
    }
    let Some(value) = reader.bool_like(field) else {
        let kind = field.node.kind();
        return reader.refuse(field, format!("must be a mapping or a boolean, found {kind}"));
    };
    Some(json!({"enabled": value}))
}
