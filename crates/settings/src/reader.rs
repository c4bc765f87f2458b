//! Collects the problems of a file and reads its scalars.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use serde_json::Value as Json;

use crate::node::{Field, Key, Node, Value, dotted, duplicates, given_twice};
use crate::problem::{Position, Problem};
use crate::schema::{Schema, listed, names};
use crate::scope::{Origin, Reference, Scope};
use crate::secret::{KnownSecret, Secrets};
use crate::text::Text;

/// Maximum quoted characters of a wrong value.
const MAX_QUOTED: usize = 40;
/// Minimum similarity of a suggestion.
const LEAST_LIKENESS: f64 = 0.84;

/// Reader of values with this `format`, which replaces the rules for its type.
pub type Format = (&'static str, fn(&mut Reader<'_>, &Json, &Field<'_>) -> Option<Json>);

/// Reads a file, or an entry of it, and collects all problems.
pub struct Reader<'a> {
    /// The values of variables.
    pub scope: &'a Scope,
    /// Whether the entry is used; an unused one may refer to unset variables.
    pub enabled: bool,
    /// The values that must never be shown.
    pub secrets: Secrets,
    /// Base of relative paths; without one they stay relative.
    pub folder: Option<&'a Path>,
    /// Readers of custom formats.
    pub formats: &'a [&'a [Format]],
    /// The schema that is searched for the right section of a misplaced key.
    pub schema: Option<&'a Schema>,
    /// Keys of other programs, without case and punctuation, and their replacements.
    pub foreign_keys: &'a [(&'a str, &'a str)],
    section: Option<&'a str>,
    pub(crate) strictness: Strictness,
    problems: Vec<Problem>,
    /// Keys and positions of errors, to report only the first error of a value.
    refused: BTreeSet<(String, Position)>,
    /// Positions of the keys that are set: of their owners, and of their values.
    positions: BTreeMap<String, (Position, Position)>,
}

/// How an unusable value is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// As a warning that names the replacement.
    Lenient,
    /// As an error, like unknown keys and unset variables. Only the first error of a value is
    /// kept.
    Strict,
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("section", &self.section)
            .field("strictness", &self.strictness)
            .field("problems", &self.problems)
            .finish_non_exhaustive()
    }
}

impl<'a> Reader<'a> {
    /// A reader of one entry of a file, or of all of it.
    pub fn new(scope: &'a Scope, section: Option<&'a str>, strictness: Strictness) -> Self {
        Self {
            scope,
            enabled: true,
            secrets: Secrets::default(),
            folder: None,
            formats: &[],
            schema: None,
            foreign_keys: &[],
            section,
            strictness,
            problems: Vec::new(),
            refused: BTreeSet::new(),
            positions: BTreeMap::new(),
        }
    }

    /// The problems, and the values that must never be shown.
    pub fn finish(self) -> (Vec<Problem>, Vec<KnownSecret>) {
        (self.problems, self.secrets.into_known())
    }

    /// Whether a key is set, to any value.
    pub fn is_set(&self, key: &str) -> bool {
        self.positions.contains_key(key)
    }

    /// The position of the value of a key.
    pub fn position(&self, key: &str) -> Position {
        self.positions.get(key).map(|(_, position)| *position).unwrap_or_default()
    }

    /// The position of the name of an entry.
    pub fn owner(&self, key: &str) -> Position {
        self.positions.get(key).map(|(owner, _)| *owner).unwrap_or_default()
    }

    pub(crate) fn note_position(&mut self, field: &Field<'_>, owner: Position) {
        self.positions.insert(field.key.clone(), (owner, field.position));
    }

    /// Stores a problem of this key; only the first error of a value is stored.
    pub fn report(&mut self, key: &str, problem: Problem) {
        let is_known = self.refused.contains(&(key.to_owned(), problem.position()));
        if self.strictness == Strictness::Lenient || !problem.is_error() || !is_known {
            self.keep(key, problem);
        }
    }

    fn keep(&mut self, key: &str, problem: Problem) {
        if problem.is_error() {
            self.refused.insert((key.to_owned(), problem.position()));
        }
        self.problems.push(match self.section {
            Some(section) => problem.of(section, key),
            None => problem.at(key),
        });
    }

    pub fn warn(&mut self, field: &Field<'_>, message: impl Into<String>) {
        self.report(&field.key, Problem::warning(field.position, message));
    }

    /// Adds an error; returns `None`, for a value that cannot be used.
    pub fn refuse<T>(&mut self, field: &Field<'_>, message: impl Into<String>) -> Option<T> {
        self.report(&field.key, Problem::error(field.position, message));
        None
    }

    /// Adds an error with an optional hint; returns `None`.
    pub fn refuse_hinted<'h, T>(
        &mut self,
        field: &Field<'_>,
        message: impl Into<String>,
        hint: impl Into<Option<&'h str>>,
    ) -> Option<T> {
        let hint = hint.into().map(str::to_owned);
        self.report(&field.key, Problem { hint, ..Problem::error(field.position, message) });
        None
    }

    /// Adds a warning about a key that was read, with an optional hint.
    pub fn warn_of_key<'h>(
        &mut self,
        key: &str,
        message: impl Into<String>,
        hint: impl Into<Option<&'h str>>,
    ) {
        let hint = hint.into().map(str::to_owned);
        self.report(key, Problem { hint, ..Problem::warning(self.position(key), message) });
    }

    /// Adds an error about a key that was read, with an optional hint.
    pub fn refuse_key<'h>(
        &mut self,
        key: &str,
        message: impl Into<String>,
        hint: impl Into<Option<&'h str>>,
    ) {
        let hint = hint.into().map(str::to_owned);
        self.report(key, Problem { hint, ..Problem::error(self.position(key), message) });
    }

    /// A checked value, or an error with this message.
    pub fn accept(
        &mut self,
        field: &Field<'_>,
        value: impl Into<Json>,
        is_good: bool,
        message: impl Into<String>,
    ) -> Option<Json> {
        if is_good { Some(value.into()) } else { self.refuse(field, message) }
    }

    pub(crate) fn report_unknown(&mut self, key: &str, position: Position, hint: Option<String>) {
        let problem = self.problem(position, "is not a known key", " and is ignored");
        self.report(key, Problem { hint, ..problem });
    }

    /// Reports every duplicate key.
    pub fn report_duplicates(&mut self, section: &str, entries: &[(Key, Node)]) {
        for (first, second) in duplicates(entries) {
            self.report(&dotted(section, &second.text), given_twice(first, second));
        }
    }

    /// Reports an unusable value, as an error or with its replacement; returns `None`.
    pub(crate) fn replace<T>(
        &mut self,
        schema: &Json,
        field: &Field<'_>,
        message: &str,
        hint: Option<String>,
    ) -> Option<T> {
        let instead = format!("; {}", instead(schema));
        let problem = self.problem(field.position, message, &instead);
        self.report(&field.key, Problem { hint, ..problem });
        None
    }

    /// An error, or a warning with a longer message.
    pub(crate) fn problem(&self, position: Position, message: &str, if_lenient: &str) -> Problem {
        match self.strictness {
            Strictness::Lenient => Problem::warning(position, format!("{message}{if_lenient}")),
            Strictness::Strict => Problem::error(position, message),
        }
    }

    /// A hint for an unknown key: the most similar one.
    pub(crate) fn suggestion(&self, schema: &Json, section: &str, name: &str) -> Option<String> {
        let near = nearest(name, names(schema));
        let did_you_mean = |known: &str| Some(format!("did you mean `{known}`?"));
        if let Some((_, known)) = near.filter(|(likeness, _)| *likeness >= 1.0) {
            return did_you_mean(known);
        }
        let plain = plainly(name);
        if let Some((_, hint)) = self.foreign_keys.iter().find(|(foreign, _)| *foreign == plain) {
            return Some((*hint).to_owned());
        }
        if let Some((_, known)) = near {
            return did_you_mean(known);
        }
        let elsewhere = self.schema.and_then(|schema| schema.section_with(name));
        if let Some(other) = elsewhere.filter(|other| other != section) {
            return did_you_mean(&dotted(&other.replace('*', "NAME"), name));
        }
        let is_strict = self.strictness == Strictness::Strict;
        is_strict.then(|| format!("known keys: {}", listed(schema)))
    }

    /// A scalar as a string, with its references resolved; `None` for null, lists and mappings.
    pub fn scalar(&mut self, field: &Field<'_>) -> Option<Text> {
        match &field.node.value {
            Value::Bool(_, written) | Value::Number(_, written) => {
                Some(Text::literal(written.clone()))
            }
            Value::String(written) => {
                if written.trim() != written {
                    let message = "the value starts or ends with whitespace";
                    let problem = Problem::warning(field.position, message);
                    self.report(&field.key, problem.hint("remove it unless it is intended"));
                }
                Some(self.resolve(field, written))
            }
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// Resolves the references of a string and reports unresolvable ones.
    pub fn resolve(&mut self, field: &Field<'_>, written: &str) -> Text {
        let (value, references) = self.scope.resolve(written);
        self.secrets.note_references(&references);
        if self.enabled {
            for reference in &references {
                if let Some(problem) = self.fault_of_reference(field.position, reference) {
                    // Each of them is reported, even several in one value.
                    self.keep(&field.key, problem);
                }
            }
        }
        Text::resolved(written, value)
    }

    fn fault_of_reference(&self, position: Position, reference: &Reference) -> Option<Problem> {
        if reference.origin == Origin::Default {
            return None;
        }
        let name = quoted(&reference.name);
        if reference.origin == Origin::Unset {
            let message = format!("the variable {name} is not set");
            let problem = self.problem(position, &message, "; its placeholder is kept");
            return Some(problem.hint(match reference.name.as_str() {
                "" => "write a variable name between the braces",
                _ => "set it in the profile's `.env` file or in the environment",
            }));
        }
        if reference.value.is_empty() {
            let message = format!("the variable {name} is set but empty");
            return Some(self.problem(position, &message, ""));
        }
        (reference.value.trim() != reference.value).then(|| {
            let message =
                format!("the value of the variable {name} starts or ends with whitespace");
            Problem::warning(position, message)
        })
    }

    /// A string; numbers, lists and mappings are refused.
    pub fn string(&mut self, field: &Field<'_>, wanted: &str) -> Option<Text> {
        if !matches!(&field.node.value, Value::String(written) if !written.trim().is_empty()) {
            return self.refuse(field, format!("must be {wanted}, found {}", field.node.kind()));
        }
        let text = self.scalar(field)?;
        if self.enabled && text.value().trim().is_empty() {
            return self.refuse(field, format!("must be {wanted}, but its variables are empty"));
        }
        Some(text)
    }

    /// A path, with `~` expanded.
    pub fn path(&mut self, field: &Field<'_>, wanted: &str) -> Option<Text> {
        let text = self.string(field, wanted)?;
        Some(self.expand(field, text))
    }

    /// A scalar of a list of strings.
    pub fn string_like(&mut self, field: &Field<'_>) -> Option<Text> {
        match self.scalar(field) {
            None => self.refuse(field, format!("must be a string, found {}", field.node.kind())),
            text => text,
        }
    }

    /// A path with `~` expanded; relative ones start from the folder of the file.
    pub fn expanded(&self, path: &str) -> String {
        let path = path.trim();
        let path = self.scope.expand_home(path).unwrap_or_else(|| path.to_owned());
        self.in_folder(&path)
    }

    /// Expands `~`, or warns that it cannot.
    pub fn expand(&mut self, field: &Field<'_>, text: Text) -> Text {
        if let Some(expanded) = self.scope.expand_home(text.value().trim()) {
            return text.with_value(expanded);
        }
        self.warn(field, "`~` is kept because the home directory is unknown");
        text
    }

    /// A string; an empty one means unset.
    pub fn optional(&mut self, field: &Field<'_>) -> Option<Text> {
        if matches!(&field.node.value, Value::String(text) if text.trim().is_empty()) {
            return None;
        }
        self.string_like(field).filter(|text| !text.value().trim().is_empty())
    }

    /// The value of a boolean or a word for one; `None` otherwise, with warnings only for
    /// references.
    pub fn bool_like(&mut self, field: &Field<'_>) -> Option<bool> {
        if let Value::Bool(value, _) = field.node.value {
            return Some(value);
        }
        switch(self.scalar(field)?.value())
    }

    /// A non-negative number, also in a string, and whether it has a unit; a problem names the
    /// replacement. A duration may have a unit, such as `15m`.
    pub(crate) fn number(&mut self, schema: &Json, field: &Field<'_>) -> Option<(f64, bool)> {
        let (value, found) = match &field.node.value {
            Value::Number(value, written) => (Some((*value, false)), quoted(written)),
            Value::String(_) => {
                let text = self.scalar(field)?;
                let value = text.value().trim();
                let bare = value.parse().ok().map(|number| (number, false));
                let units = || Some((seconds_of(value)? / schema["x-unit"].as_f64()?, true));
                (bare.or_else(units), quoted(text.shown()))
            }
            _ => (None, field.node.kind().to_owned()),
        };
        let wanted = match value {
            Some((number, _)) if number.is_finite() && number >= 0.0 => return value,
            Some(_) => "a number greater than or equal to 0",
            None => "a number",
        };
        self.replace(schema, field, &format!("must be {wanted}, found {found}"), None)
    }
}

/// The replacement of a wrong value.
fn instead(schema: &Json) -> String {
    if let Some(words) = schema["x-otherwise"][1].as_str() {
        return words.to_owned();
    }
    match &schema["default"] {
        Json::Null => "the value is ignored".to_owned(),
        Json::String(word) => format!("using `{word}`"),
        default => format!("using {default}"),
    }
}

/// The value of a word for a boolean.
pub fn switch(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Seconds of a duration with a unit: `90s`, `15m`, `24h` or `30d`.
fn seconds_of(text: &str) -> Option<f64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    number.trim_end().parse::<f64>().ok().map(|number| number * seconds)
}

/// A value quoted for a message: short, without control characters.
pub fn quoted(text: &str) -> String {
    let short: String = text.chars().take(MAX_QUOTED).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", short.escape_debug())
}

/// The most similar known name, if any is similar enough, and its similarity: 1 if they differ
/// only in case, underscores and hyphens.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<(f64, &'k str)> {
    let plain = plainly(name);
    known
        .into_iter()
        .map(|known| {
            let same = plainly(known) == plain;
            (if same { 1.0 } else { strsim::jaro_winkler(known, name) }, known)
        })
        .filter(|(likeness, _)| *likeness >= LEAST_LIKENESS)
        .max_by(|a, b| a.0.total_cmp(&b.0))
}

/// A name without case, underscores and hyphens.
fn plainly(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}
