//! Whether a value matches a schema, for results of tools and answers of models.
//!
//! The schema may come from a hostile server: the work is bounded, patterns are not evaluated, and
//! what is unknown or too much to check counts as a match.

use serde_json::{Map, Value};

use super::reference::target;

/// The most schemas that are applied to the values of one check.
const MAX_STEPS: usize = 100_000;
const MAX_DEPTH: usize = 128;
const MAX_PATH_CHARS: usize = 120;

/// The first place where a value does not match, in words.
pub fn violation(schema: &Value, value: &Value) -> Option<String> {
    let root = schema.as_object();
    let mut check = Check { root, steps: 0 };
    check.value(schema, value, &mut Vec::new()).err().flatten()
}

struct Check<'s> {
    root: Option<&'s Map<String, Value>>,
    steps: usize,
}

/// `Err(None)` ends a check that is too much work.
type Checked = Result<(), Option<String>>;

impl<'s> Check<'s> {
    fn value(&mut self, schema: &'s Value, value: &Value, path: &mut Vec<String>) -> Checked {
        self.steps += 1;
        if self.steps > MAX_STEPS || path.len() > MAX_DEPTH {
            return Err(None);
        }
        let rules = match schema {
            Value::Bool(false) => return wrong(path, "is not allowed"),
            Value::Object(rules) => rules,
            _ => return Ok(()),
        };
        if let Some(pointer) = rules.get("$ref").and_then(Value::as_str)
            && let Some(target) = self.target(pointer)
        {
            // A chain of references has no value to end it.
            path.push(String::new());
            let checked = self.value(target, value, path);
            path.pop();
            checked?;
        }
        typed(rules, value, path)?;
        self.combined(rules, value, path)?;
        match value {
            Value::Object(fields) => self.object(rules, fields, path),
            Value::Array(items) => self.array(rules, items, path),
            Value::Number(number) => bounded(rules, number.as_f64().unwrap_or_default(), path),
            Value::String(text) => {
                sized(rules, ("minLength", "maxLength"), text.chars().count(), path)
            }
            Value::Null | Value::Bool(_) => Ok(()),
        }
    }

    fn target(&self, pointer: &str) -> Option<&'s Value> {
        target(self.root?, pointer)
    }

    fn combined(
        &mut self,
        rules: &'s Map<String, Value>,
        value: &Value,
        path: &mut Vec<String>,
    ) -> Checked {
        for schema in listed(rules, "allOf") {
            self.value(schema, value, path)?;
        }
        for (keyword, is_one) in [("anyOf", false), ("oneOf", true)] {
            let mut matches = 0;
            for schema in listed(rules, keyword) {
                match self.value(schema, value, path) {
                    Ok(()) => matches += 1,
                    Err(Some(_)) => {}
                    Err(None) => return Err(None),
                }
            }
            let has_any = listed(rules, keyword).next().is_some();
            if has_any && (matches == 0 || is_one && matches > 1) {
                return wrong(path, &format!("matches {matches} schemas of `{keyword}`"));
            }
        }
        match rules.get("not").map(|schema| self.value(schema, value, path)) {
            Some(Ok(())) => wrong(path, "matches a schema that is excluded"),
            Some(Err(None)) => Err(None),
            _ => Ok(()),
        }
    }

    fn object(
        &mut self,
        rules: &'s Map<String, Value>,
        fields: &Map<String, Value>,
        path: &mut Vec<String>,
    ) -> Checked {
        for name in listed(rules, "required").filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                return wrong(path, &format!("lacks `{}`", short(name)));
            }
        }
        let known = rules.get("properties").and_then(Value::as_object);
        let others = rules.get("additionalProperties");
        let others = others.filter(|_| rules.get("patternProperties").is_none());
        for (name, value) in fields {
            let schema = known.and_then(|known| known.get(name)).or(others);
            let Some(schema) = schema else { continue };
            path.push(name.clone());
            let checked = self.value(schema, value, path);
            path.pop();
            checked?;
        }
        sized(rules, ("minProperties", "maxProperties"), fields.len(), path)
    }

    fn array(
        &mut self,
        rules: &'s Map<String, Value>,
        items: &[Value],
        path: &mut Vec<String>,
    ) -> Checked {
        let first: Vec<&Value> = listed(rules, "prefixItems").collect();
        for (at, value) in items.iter().enumerate() {
            let Some(schema) = first.get(at).copied().or_else(|| rules.get("items")) else {
                continue;
            };
            path.push(at.to_string());
            let checked = self.value(schema, value, path);
            path.pop();
            checked?;
        }
        sized(rules, ("minItems", "maxItems"), items.len(), path)
    }
}

fn typed(rules: &Map<String, Value>, value: &Value, path: &[String]) -> Checked {
    let is = |kind: &Value| match kind.as_str().unwrap_or_default() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    };
    let wanted = match rules.get("type") {
        Some(Value::Array(kinds)) if !kinds.iter().any(is) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            kinds.join(" or ")
        }
        Some(kind @ Value::String(word)) if !is(kind) => word.clone(),
        _ => String::new(),
    };
    if !wanted.is_empty() {
        return wrong(path, &format!("must be {wanted}, found {}", kind_of(value)));
    }
    match (rules.get("const"), rules.get("enum")) {
        (Some(only), _) if !is_equal(only, value) => wrong(path, "has another value"),
        (_, Some(Value::Array(all))) if !all.iter().any(|one| is_equal(one, value)) => {
            wrong(path, "is none of the allowed values")
        }
        _ => Ok(()),
    }
}

fn bounded(rules: &Map<String, Value>, number: f64, path: &[String]) -> Checked {
    let of = |keyword: &str| rules.get(keyword).and_then(Value::as_f64);
    let is_low = of("minimum").is_some_and(|least| number < least)
        || of("exclusiveMinimum").is_some_and(|least| number <= least);
    let is_high = of("maximum").is_some_and(|most| number > most)
        || of("exclusiveMaximum").is_some_and(|most| number >= most);
    match (is_low, is_high) {
        (true, _) => wrong(path, "is too small"),
        (_, true) => wrong(path, "is too large"),
        _ => Ok(()),
    }
}

fn sized(
    rules: &Map<String, Value>,
    (least, most): (&str, &str),
    size: usize,
    path: &[String],
) -> Checked {
    let of = |keyword: &str| rules.get(keyword).and_then(Value::as_u64);
    if of(least).is_some_and(|least| (size as u64) < least) {
        return wrong(path, "is too short");
    }
    if of(most).is_some_and(|most| size as u64 > most) {
        return wrong(path, "is too long");
    }
    Ok(())
}

fn listed<'v>(rules: &'v Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'v Value> {
    rules.get(keyword).and_then(Value::as_array).into_iter().flatten()
}

/// Numbers are equal by value: `1` is `1.0`.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn wrong(path: &[String], what: &str) -> Checked {
    let names: Vec<&str> =
        path.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    let place = if names.is_empty() {
        "the value".to_owned()
    } else {
        format!("`{}`", short(&names.join(".")))
    };
    Err(Some(format!("{place} {what}")))
}

fn short(text: &str) -> String {
    text.chars().take(MAX_PATH_CHARS).filter(|letter| !letter.is_control()).collect()
}

#[cfg(test)]
mod tests;
