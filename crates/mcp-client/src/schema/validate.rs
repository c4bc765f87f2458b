//! Validation of a value against a schema, for results of tools and answers of models.
//!
//! The schema may come from a hostile server: the work is bounded, patterns are not evaluated,
//! and unknown keywords or checks that exceed the bound count as a match.

use serde_json::{Map, Value};

use super::reference::target;

/// Maximum number of schemas applied to values in one check.
const MAX_STEPS: usize = 100_000;
const MAX_DEPTH: usize = 128;
const MAX_PATH_CHARS: usize = 120;

/// Describes the first place where a value does not match.
pub fn violation(schema: &Value, value: &Value) -> Option<String> {
    let mut check = Check { root: schema.as_object(), steps: 0, path: Vec::new() };
    check.value(schema, value).err().flatten()
}

struct Check<'s> {
    root: Option<&'s Rules>,
    steps: usize,
    path: Vec<String>,
}

type Rules = Map<String, Value>;
/// `Err(None)` ends a check that exceeds the bound.
type Checked = Result<(), Option<String>>;

impl<'s> Check<'s> {
    fn value(&mut self, schema: &'s Value, value: &Value) -> Checked {
        self.steps += 1;
        if self.steps > MAX_STEPS || self.path.len() > MAX_DEPTH {
            return Err(None);
        }
        let rules = match schema {
            Value::Bool(false) => return self.wrong("is not allowed"),
            Value::Object(rules) => rules,
            _ => return Ok(()),
        };
        if let (Some(pointer), Some(root)) = (rules.get("$ref").and_then(Value::as_str), self.root)
            && let Some(target) = target(root, pointer)
        {
            // Unlike the depth of a value, a chain of references is unbounded.
            self.below(String::new(), target, value)?;
        }
        self.typed(rules, value)?;
        self.combined(rules, value)?;
        match value {
            Value::Object(fields) => self.object(rules, fields),
            Value::Array(items) => self.array(rules, items),
            Value::Number(number) => self.bounded(rules, number.as_f64().unwrap_or_default()),
            Value::String(text) => {
                self.sized(rules, ("minLength", "maxLength"), text.chars().count())
            }
            Value::Null | Value::Bool(_) => Ok(()),
        }
    }

    fn below(&mut self, name: String, schema: &'s Value, value: &Value) -> Checked {
        self.path.push(name);
        let checked = self.value(schema, value);
        self.path.pop();
        checked
    }

    fn combined(&mut self, rules: &'s Rules, value: &Value) -> Checked {
        for schema in listed(rules, "allOf") {
            self.value(schema, value)?;
        }
        for (keyword, is_one) in [("anyOf", false), ("oneOf", true)] {
            let mut matches = 0;
            for schema in listed(rules, keyword) {
                match self.value(schema, value) {
                    Ok(()) => matches += 1,
                    Err(Some(_)) => {}
                    Err(None) => return Err(None),
                }
            }
            let has_any = listed(rules, keyword).next().is_some();
            if has_any && (matches == 0 || is_one && matches > 1) {
                return self.wrong(&format!("matches {matches} schemas of `{keyword}`"));
            }
        }
        match rules.get("not").map(|schema| self.value(schema, value)) {
            Some(Ok(())) => self.wrong("matches a schema that is excluded"),
            Some(Err(None)) => Err(None),
            _ => Ok(()),
        }
    }

    fn object(&mut self, rules: &'s Rules, fields: &Map<String, Value>) -> Checked {
        for name in listed(rules, "required").filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                return self.wrong(&format!("lacks `{}`", short(name)));
            }
        }
        let known = rules.get("properties").and_then(Value::as_object);
        let others = rules.get("additionalProperties");
        let others = others.filter(|_| rules.get("patternProperties").is_none());
        for (name, value) in fields {
            if let Some(schema) = known.and_then(|known| known.get(name)).or(others) {
                self.below(name.clone(), schema, value)?;
            }
        }
        self.sized(rules, ("minProperties", "maxProperties"), fields.len())
    }

    fn array(&mut self, rules: &'s Rules, items: &[Value]) -> Checked {
        let first: Vec<&Value> = listed(rules, "prefixItems").collect();
        for (at, value) in items.iter().enumerate() {
            if let Some(schema) = first.get(at).copied().or_else(|| rules.get("items")) {
                self.below(at.to_string(), schema, value)?;
            }
        }
        self.sized(rules, ("minItems", "maxItems"), items.len())
    }

    fn typed(&self, rules: &Rules, value: &Value) -> Checked {
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
            return self.wrong(&format!("must be {wanted}, found {}", kind_of(value)));
        }
        match (rules.get("const"), rules.get("enum")) {
            (Some(only), _) if !is_equal(only, value) => self.wrong("has another value"),
            (_, Some(Value::Array(all))) if !all.iter().any(|one| is_equal(one, value)) => {
                self.wrong("is none of the allowed values")
            }
            _ => Ok(()),
        }
    }

    fn bounded(&self, rules: &Rules, number: f64) -> Checked {
        let of = |keyword: &str| rules.get(keyword).and_then(Value::as_f64);
        let is_low = of("minimum").is_some_and(|least| number < least)
            || of("exclusiveMinimum").is_some_and(|least| number <= least);
        let is_high = of("maximum").is_some_and(|most| number > most)
            || of("exclusiveMaximum").is_some_and(|most| number >= most);
        match (is_low, is_high) {
            (true, _) => self.wrong("is too small"),
            (_, true) => self.wrong("is too large"),
            _ => Ok(()),
        }
    }

    fn sized(&self, rules: &Rules, (least, most): (&str, &str), size: usize) -> Checked {
        let of = |keyword: &str| rules.get(keyword).and_then(Value::as_u64);
        if of(least).is_some_and(|least| (size as u64) < least) {
            return self.wrong("is too short");
        }
        if of(most).is_some_and(|most| size as u64 > most) {
            return self.wrong("is too long");
        }
        Ok(())
    }

    fn wrong(&self, what: &str) -> Checked {
        let names = self.path.iter().map(String::as_str).filter(|name| !name.is_empty());
        let place = match names.collect::<Vec<_>>().join(".").as_str() {
            "" => "the value".to_owned(),
            path => format!("`{}`", short(path)),
        };
        Err(Some(format!("{place} {what}")))
    }
}

fn listed<'v>(rules: &'v Rules, keyword: &str) -> impl Iterator<Item = &'v Value> {
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

fn short(text: &str) -> String {
    text.chars().take(MAX_PATH_CHARS).filter(|letter| !letter.is_control()).collect()
}

#[cfg(test)]
mod tests;
