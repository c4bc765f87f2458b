//! Checks a file against its schema and reads it into structs.
//!
//! One walk over the tree reports every problem at its position, resolves references to
//! variables, parses numbers and booleans in strings, and drops unusable values. The rest fits
//! the structs, so that their derived `Deserialize` cannot fail.
//!
//! The crate `jsonschema` is not used for this. It would have to run on resolved values, its
//! errors would need new messages and positions, and values that a lenient reader replaces by
//! defaults would still be in the tree.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

use crate::node::{Field, Key, Node, Value, dotted};
use crate::problem::Problem;
use crate::reader::{Reader, Strictness, nearest, quoted};
use crate::schema::{Schema, listed, names};
use crate::text::Text;

/// Maximum configurable duration: a year.
pub const MAX_SECONDS: f64 = 31_536_000.0;

impl Reader<'_> {
    /// Reads a value into a struct of its schema; `None` if a required part is missing.
    pub fn read<T: DeserializeOwned>(&mut self, schema: &Schema, field: &Field<'_>) -> Option<T> {
        let value = self.value(&schema.0, field)?;
        self.take(&value, field)
    }

    /// Reads a struct from a value that was checked.
    pub fn take<T: DeserializeOwned>(&mut self, value: &Json, field: &Field<'_>) -> Option<T> {
        match T::deserialize(value) {
            Ok(read) => Some(read),
            Err(error) => self.refuse(field, format!("cannot be read: {error}")),
        }
    }

    /// Checks a value. Returns it as input for `serde`; `None` if it cannot be used.
    pub fn value(&mut self, schema: &Json, field: &Field<'_>) -> Option<Json> {
        let format = schema["format"].as_str();
        let mut formats = self.formats.iter().copied().flatten();
        let format = format.and_then(|name| formats.find(|(known, _)| *known == name));
        let value = match format {
            Some((_, read)) => read(self, schema, field)?,
            None => self.by_type(schema, field)?,
        };
        if schema["x-located"] != true {
            return Some(value);
        }
        Some(json!({"key": field.key, "position": field.position, "value": value}))
    }

    /// Checks a value by the type in its schema.
    pub fn by_type(&mut self, schema: &Json, field: &Field<'_>) -> Option<Json> {
        if let Some(alternatives) = schema["anyOf"].as_array() {
            return self.alternative(schema, alternatives, field);
        }
        match schema["type"].as_str().unwrap_or_default() {
            "object" => self.mapping(schema, field),
            "array" => self.list(schema, field),
            "string" if schema.get("enum").is_some() => self.one_of(schema, field),
            "string" => self.text(schema, field),
            "boolean" => self.switch(schema, field),
            "integer" => self.integer(schema, field),
            "number" => self.decimal(schema, field),
            _ => Some(field.node.to_json()),
        }
    }

    /// The alternative for the shape of the value.
    fn alternative(&mut self, schema: &Json, all: &[Json], field: &Field<'_>) -> Option<Json> {
        let has_shape = |one: &&Json| match (&field.node.value, one["type"].as_str()) {
            (Value::Map(_), kind) => kind == Some("object"),
            (Value::List(_), kind) => kind == Some("array"),
            (Value::Bool(..), kind) => kind == Some("boolean"),
            (_, kind) => !matches!(kind, Some("object" | "array" | "boolean")),
        };
        if let Some(one) = all.iter().find(has_shape) {
            return self.value(one, field);
        }
        match schema["x-wanted"].as_str() {
            Some(wanted) => {
                let message = format!("must be {wanted}, found {}", field.node.kind());
                self.refuse_hinted(field, message, schema["x-hint"].as_str())
            }
            None => self.value(all.last()?, field),
        }
    }

    /// A mapping of known keys, or from names to values.
    fn mapping(&mut self, schema: &Json, field: &Field<'_>) -> Option<Json> {
        let has_keys = schema.get("properties").is_some();
        if let Value::Map(entries) = &field.node.value {
            self.report_duplicates(&field.key, entries);
            return if has_keys {
                self.section(schema, field, entries)
            } else {
                self.named(schema, field, entries)
            };
        }
        if let Some(short) = schema["x-short"].as_str() {
            let value = self.value(&schema["properties"][short], field)?;
            return Some(json!({ short: value }));
        }
        let kind = field.node.kind();
        if !has_keys {
            return self
                .refuse(field, format!("must be a mapping from names to values, found {kind}"));
        }
        let is_strict = self.strictness == Strictness::Strict;
        let hint = is_strict.then(|| format!("allowed keys: {}", listed(schema)));
        self.refuse_hinted(field, format!("must be a mapping, found {kind}"), hint.as_deref())
    }

    /// The known keys of a mapping of a schema.
    pub fn known_keys(&mut self, schema: &Schema, field: &Field<'_>) -> Option<Json> {
        self.section(&schema.0, field, field.node.entries())
    }

    /// The known keys of a mapping; all others are reported.
    fn section(
        &mut self,
        schema: &Json,
        field: &Field<'_>,
        entries: &[(Key, Node)],
    ) -> Option<Json> {
        let mut read = Map::new();
        let tag = schema["x-tag"].as_str();
        let mut kind: Option<String> = None;
        let mut unknown = Vec::new();
        // The tag first: others depend on it.
        let (first, rest): (Vec<_>, Vec<_>) =
            last_of_each(entries).partition(|(key, _)| Some(key.text.as_str()) == tag);
        for (key, node) in first.into_iter().chain(rest) {
            let item = Field::within(&field.key, key, node);
            let Some(property) = schema["properties"].get(&key.text) else {
                unknown.push(key);
                continue;
            };
            if node.is_null() {
                continue;
            }
            self.note_position(&item, item.position);
            if let Some(kind) = &kind
                && is_for_others(property, kind)
            {
                let items = schema["x-items"].as_str().unwrap_or("mappings");
                let message = format!("does not apply to {items} of kind `{kind}`");
                self.refuse_hinted::<Json>(&item, message, "remove it");
                continue;
            }
            let adapted = kind.as_deref().and_then(|kind| with_maximum(property, kind));
            if let Some(value) = self.value(adapted.as_ref().unwrap_or(property), &item) {
                if tag == Some(key.text.as_str()) {
                    kind = value.as_str().map(str::to_owned);
                }
                read.insert(key.text.clone(), value);
            }
        }
        for key in unknown {
            let hint = self.suggestion(schema, &field.key, &key.text);
            self.report_unknown(&dotted(&field.key, &key.text), key.position, hint);
        }
        self.report_missing(schema, field);
        self.add_defaults(schema, &mut read);
        let mut required = schema["required"].as_array().into_iter().flatten();
        required
            .all(|name| name.as_str().is_some_and(|name| read.contains_key(name)))
            .then(|| read.into())
    }

    fn report_missing(&mut self, schema: &Json, field: &Field<'_>) {
        for name in names(schema) {
            if let Some(hint) = schema["properties"][name]["x-missing"].as_str()
                && field.node.get(name).is_none_or(Node::is_null)
            {
                let problem = Problem::error(field.owner, format!("has no `{name}`"));
                self.report(&field.key, problem.hint(hint));
            }
        }
    }

    /// Default paths are relative to the folder of the file, like configured ones. Missing values
    /// of a mapping are taken from its own default.
    fn add_defaults(&self, schema: &Json, read: &mut Map<String, Json>) {
        for name in names(schema) {
            let property = &schema["properties"][name];
            let inherited = schema["default"].get(name).filter(|value| !value.is_null());
            let path = property["default"].as_str().filter(|_| property["format"] == "path");
            let path = path.map(|path| self.in_folder(path).into());
            if let Some(value) = inherited.cloned().or(path) {
                read.entry(name).or_insert(value);
            }
        }
    }

    /// A mapping from names to values, as a list of pairs in the order of the file.
    fn named(&mut self, schema: &Json, field: &Field<'_>, entries: &[(Key, Node)]) -> Option<Json> {
        self.check_size(schema, field, entries.len())?;
        let values = &schema["additionalProperties"];
        let mut read = Vec::with_capacity(entries.len());
        for (key, node) in entries {
            let item = Field { owner: key.position, ..Field::within(&field.key, key, node) };
            self.note_position(&item, key.position);
            if let Some(names) = schema.get("propertyNames") {
                let name = Value::String(key.text.clone());
                let name = Node { position: key.position, ..name.into() };
                let name = Field { key: item.key.clone(), ..Field::of(&name) };
                self.value(names, &name);
            }
            let value = if node.is_null() && values["x-nullable"] == true {
                Some(Json::Null)
            } else {
                self.value(values, &item)
            };
            read.extend(value.map(|value| json!([key.text, value])));
        }
        Some(read.into())
    }

    /// A list, or one item without brackets.
    fn list(&mut self, schema: &Json, field: &Field<'_>) -> Option<Json> {
        let items = match &field.node.value {
            Value::List(items) => items.as_slice(),
            Value::Map(_) | Value::Null => {
                let kind = field.node.kind();
                return self
                    .refuse(field, format!("must be a string or a list of strings, found {kind}"));
            }
            _ => {
                let item = self.value(&schema["items"], field)?;
                return Some(json!([item]));
            }
        };
        self.check_size(schema, field, items.len())?;
        let mut read: Vec<Json> = Vec::with_capacity(items.len());
        let mut seen = BTreeSet::new();
        for (index, node) in items.iter().enumerate() {
            let item = match schema["x-whole"].as_bool() {
                Some(true) => Field { node, entry: index + 1, ..field.clone() },
                _ => field.item(index, node),
            };
            self.note_position(&item, item.position);
            let Some(value) = self.value(&schema["items"], &item) else { continue };
            if schema["uniqueItems"] == true && !seen.insert(value.to_string()) {
                let message =
                    format!("{} is listed twice", quoted(node.written().unwrap_or_default()));
                self.refuse_hinted::<Json>(&item, message, "remove one of them");
                continue;
            }
            read.push(value);
        }
        Some(read.into())
    }

    /// Reports a list or mapping with too few or too many entries.
    fn check_size(&mut self, schema: &Json, field: &Field<'_>, size: usize) -> Option<()> {
        let bound = |names: [&str; 2]| names.iter().find_map(|name| schema[name].as_u64());
        if bound(["minItems", "minProperties"]).is_some_and(|least| (size as u64) < least) {
            let message = schema["x-empty"].as_str().unwrap_or_default();
            return self.refuse_hinted(field, message, schema["x-hint"].as_str());
        }
        let most = bound(["maxItems", "maxProperties"]).filter(|most| size as u64 > *most);
        let Some(most) = most else { return Some(()) };
        let message = match (schema["x-size"].as_str(), schema["x-items"].as_str()) {
            (Some(message), _) => message.to_owned(),
            (None, Some(items)) => format!("must be at most {most} {items}"),
            (None, None) => format!("has more than {most} entries"),
        };
        self.refuse(field, message)
    }

    fn one_of(&mut self, schema: &Json, field: &Field<'_>) -> Option<Json> {
        let text = self.scalar(field);
        let word = text.as_ref().map(|text| match schema["x-exact"].as_bool() {
            Some(true) => text.value().to_owned(),
            _ => text.value().trim().to_ascii_lowercase(),
        });
        let words = schema["enum"].as_array().into_iter().flatten().filter_map(Json::as_str);
        let aliases = schema["x-words"].as_array().into_iter().flatten();
        let aliases = aliases.filter_map(|pair| Some((pair[0].as_str()?, pair[1].as_str()?)));
        let all: Vec<(&str, &str)> = words.map(|word| (word, word)).chain(aliases).collect();
        if let Some((_, meaning)) = all.iter().find(|(known, _)| word.as_deref() == Some(known)) {
            return Some((*meaning).into());
        }
        let found = text.map_or_else(|| field.node.kind().to_owned(), |text| quoted(text.shown()));
        let listed: Vec<_> = all.iter().map(|(word, _)| format!("`{word}`")).collect();
        let message = format!("must be one of {}, found {found}", listed.join(", "));
        let near = nearest(&word.unwrap_or_default(), all.iter().map(|(w, _)| *w));
        let near = near.map(|(_, known)| format!("did you mean `{known}`?"));
        let hint = schema["x-hint"].as_str().map(|hint| near.unwrap_or_else(|| hint.to_owned()));
        let otherwise = schema["x-otherwise"].get(0).cloned();
        self.replace(schema, field, &message, hint).or(otherwise)
    }

    /// A string. Its `format` may be `path`.
    fn text(&mut self, schema: &Json, field: &Field<'_>) -> Option<Json> {
        let wanted = schema["x-wanted"].as_str().unwrap_or("a string");
        let text = if schema["x-optional"] == true {
            self.optional(field)?
        } else if schema["x-scalar"] == true {
            self.string_like(field)?
        } else {
            self.string(field, wanted)?
        };
        let length = text.value().chars().count() as u64;
        if let Some(most) = schema["maxLength"].as_u64().filter(|most| length > *most) {
            let message = format!("must be at most {most} characters");
            self.refuse_hinted::<Text>(field, message, schema["x-hint"].as_str());
        }
        let text = if schema["format"] == "path" {
            let text = self.expand(field, text);
            let path = self.in_folder(text.value());
            text.with_value(path)
        } else {
            text
        };
        if schema["x-text"] != true && schema["x-verbatim"] != true && schema["x-scalar"] != true {
            return Some(text.value().trim().into());
        }
        Some(text_value(schema, text))
    }

    /// A path; relative ones start from the folder of the file.
    pub(crate) fn in_folder(&self, path: &str) -> String {
        match self.folder {
            Some(folder) => folder.join(path.trim()).to_string_lossy().into_owned(),
            None => path.to_owned(),
        }
    }

    fn switch(&mut self, schema: &Json, field: &Field<'_>) -> Option<Json> {
        if let Some(value) = self.bool_like(field) {
            return Some(value.into());
        }
        let found = match &field.node.value {
            Value::String(written) | Value::Number(_, written) => quoted(written),
            _ => field.node.kind().to_owned(),
        };
        let message = format!("must be true, 1, yes, on, false, 0, no or off, found {found}");
        self.replace(schema, field, &message, None)
    }

    /// A whole number between two bounds, both at most 2^53. A duration with a unit is whole if its
    /// seconds are.
    fn integer(&mut self, schema: &Json, field: &Field<'_>) -> Option<Json> {
        let unit = schema["x-unit"].as_f64();
        let (value, has_unit) = self.number(schema, field)?;
        let least = schema["minimum"].as_u64().unwrap_or(0);
        let most = schema["maximum"].as_u64().unwrap_or(u64::from(u32::MAX));
        #[expect(clippy::cast_possible_truncation, reason = "compared with the number below")]
        #[expect(clippy::cast_sign_loss, reason = "numbers are at least 0 here")]
        let whole = value as u64;
        #[expect(clippy::cast_precision_loss, reason = "what is lost makes them differ")]
        let is_whole = (whole as f64).total_cmp(&value).is_eq();
        if is_whole && (least..=most).contains(&whole) {
            return Some(whole.into());
        }
        let seconds = value * unit.unwrap_or_default();
        let is_exact = has_unit && (seconds - seconds.round()).abs() < 1e-6;
        if is_exact && (least..most).contains(&whole) {
            return Some(value.into());
        }
        let message = format!("must be a whole number from {least} to {most}");
        self.replace(schema, field, &message, None)
    }

    /// A number of at least 0; a time in seconds if its `format` is `seconds`.
    fn decimal(&mut self, schema: &Json, field: &Field<'_>) -> Option<Json> {
        let (value, _) = self.number(schema, field)?;
        // As written: without a fraction if there is none.
        let number = |value: f64| serde_json::from_str(&value.to_string()).ok();
        if schema["format"] == "seconds" {
            if value == 0.0 && schema.get("exclusiveMinimum").is_some() {
                let message = "must be more than 0 seconds";
                return self.replace(schema, field, message, None);
            }
            if value > MAX_SECONDS {
                let instead = format!("; using {MAX_SECONDS}");
                let problem = self.problem(field.position, "is more than one year", &instead);
                self.report(&field.key, problem);
                return number(MAX_SECONDS);
            }
            return number(value);
        }
        let (least, most) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
        let (least, most) = (least.unwrap_or(0.0), most.unwrap_or(f64::MAX));
        if (least..=most).contains(&value) {
            return number(value);
        }
        let wanted = schema["x-wanted"].as_str().map(str::to_owned);
        let wanted = wanted.unwrap_or_else(|| format!("a number from {least} to {most}"));
        let hint = schema["x-hint"].as_str().map(str::to_owned);
        self.replace(schema, field, &format!("must be {wanted}"), hint)
    }
}

/// A text for the structs: its value alone, or a [`Text`].
pub fn text_value(schema: &Json, text: Text) -> Json {
    if schema["x-text"] == true { text.into() } else { text.value().into() }
}

/// The last entry of each duplicate key.
fn last_of_each(entries: &[(Key, Node)]) -> impl Iterator<Item = &(Key, Node)> {
    let last: BTreeMap<&str, usize> =
        entries.iter().enumerate().map(|(index, (key, _))| (key.text.as_str(), index)).collect();
    entries
        .iter()
        .enumerate()
        .filter(move |(at, (key, _))| last.get(key.text.as_str()) == Some(at))
        .map(|(_, one)| one)
}

fn is_for_others(property: &Json, kind: &str) -> bool {
    property["x-kinds"].as_array().is_some_and(|kinds| !kinds.iter().any(|one| one == kind))
}

/// The schema with the maximum for this kind.
fn with_maximum(property: &Json, kind: &str) -> Option<Json> {
    let most = property["x-maximum"].get(kind)?;
    let mut adapted = property.clone();
    adapted["maximum"] = most.clone();
    Some(adapted)
}

#[cfg(test)]
mod tests;
