//! Single values of an entry: strings, switches, numbers and lists, each read in one way.

use std::time::Duration;

use super::super::node::{Node, Value};
use super::super::problem::{Place, Problem};
use super::super::reference::{Origin, Scope};
use super::super::secret::{KnownSecret, Secrets};
use super::super::text::Text;
use super::section::Field;

/// The longest time that can be configured: a year.
pub const MAX_SECONDS: f64 = 31_536_000.0;
/// How much of a wrong value is quoted, in characters.
const MAX_QUOTED: usize = 40;

/// Reads one entry and collects what is wrong with it.
pub(super) struct Reader<'a> {
    pub(super) scope: &'a Scope,
    pub(super) server: &'a str,
    /// Whether the entry takes part; one that does not may refer to what is not set.
    pub(super) enabled: bool,
    pub(super) secrets: Secrets,
    problems: Vec<Problem>,
}

/// Which times are allowed, and which one to take otherwise.
pub(super) struct Seconds {
    pub(super) default: Duration,
    pub(super) zero: Zero,
}

/// What a time of 0 seconds is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Zero {
    Allowed,
    Refused,
}

impl<'a> Reader<'a> {
    pub(super) fn new(scope: &'a Scope, server: &'a str) -> Self {
        Self { scope, server, enabled: true, secrets: Secrets::default(), problems: Vec::new() }
    }

    pub(super) fn finish(self) -> (Vec<Problem>, Vec<KnownSecret>) {
        (self.problems, self.secrets.into_known())
    }

    pub(super) fn report(&mut self, key: &str, problem: Problem) {
        self.problems.push(problem.of(self.server, key));
    }

    pub(super) fn warn(&mut self, field: &Field<'_>, message: impl Into<String>) {
        self.report(&field.key, Problem::warning(field.place, message));
    }

    pub(super) fn refuse(&mut self, field: &Field<'_>, message: impl Into<String>) {
        self.report(&field.key, Problem::error(field.place, message));
    }

    /// A scalar as a string, with its references resolved; nothing for null, lists and mappings.
    pub(super) fn scalar(&mut self, key: &str, place: Place, node: &Node) -> Option<Text> {
        match &node.value {
            Value::Bool(_, written) | Value::Number(_, written) => {
                Some(Text::literal(written.clone()))
            }
            Value::String(written) => {
                self.warn_of_whitespace(key, place, written);
                Some(self.resolve(key, place, written))
            }
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// Resolves the references of a string, and says which ones lead nowhere.
    pub(super) fn resolve(&mut self, key: &str, place: Place, written: &str) -> Text {
        let (value, references) = self.scope.resolve(written);
        self.secrets.note_references(&references);
        if self.enabled {
            for reference in &references {
                // What follows `:-` is meant as a value and may be a secret.
                let name = quoted(reference.name.split(":-").next().unwrap_or_default());
                if reference.origin == Origin::Unset {
                    let message =
                        format!("the variable {name} is not set; its placeholder is kept");
                    let mut problem = Problem::warning(place, message);
                    problem.hint = Some(unset_hint(&reference.name));
                    self.report(key, problem);
                } else if reference.value.is_empty() {
                    let message = format!("the variable {name} is set but empty");
                    self.report(key, Problem::warning(place, message));
                } else if reference.value.trim() != reference.value {
                    let message =
                        format!("the value of the variable {name} begins or ends with white space");
                    self.report(key, Problem::warning(place, message));
                }
            }
        }
        Text::resolved(written, value)
    }

    fn warn_of_whitespace(&mut self, key: &str, place: Place, written: &str) {
        if written.trim() != written {
            let message = "the value begins or ends with white space";
            self.report(key, Problem::warning(place, message).hint("remove it if it is not meant"));
        }
    }

    /// A string that is needed to be one: numbers, lists and mappings are refused.
    pub(super) fn string(&mut self, field: &Field<'_>, wanted: &str) -> Option<Text> {
        if let Value::String(written) = &field.node.value {
            if written.trim().is_empty() {
                self.refuse(field, format!("must be {wanted}, found an empty string"));
                return None;
            }
            let text = self.scalar(&field.key, field.place, field.node)?;
            if self.enabled && text.value().trim().is_empty() {
                self.refuse(field, format!("must be {wanted}, but its variables are empty"));
                return None;
            }
            return Some(text);
        }
        self.refuse(field, format!("must be {wanted}, found {}", field.node.kind()));
        None
    }

    /// A path, with `~` expanded.
    pub(super) fn path(&mut self, field: &Field<'_>, wanted: &str) -> Option<Text> {
        let text = self.string(field, wanted)?;
        Some(self.expand(field, text))
    }

    /// Expands `~`, or says why not.
    pub(super) fn expand(&mut self, field: &Field<'_>, text: Text) -> Text {
        if let Some(expanded) = self.scope.expand_home(text.value().trim()) {
            return text.with_value(expanded);
        }
        self.warn(field, "`~` is kept because the home directory is not known");
        text
    }

    /// A string that may be left empty, which means that it is not set.
    pub(super) fn optional(&mut self, field: Option<Field<'_>>) -> Option<Text> {
        let field = field?;
        if matches!(&field.node.value, Value::String(text) if text.trim().is_empty()) {
            return None;
        }
        if let Some(text) = self.scalar(&field.key, field.place, field.node) {
            Some(text).filter(|text| !text.value().trim().is_empty())
        } else {
            self.refuse(&field, format!("must be a string, found {}", field.node.kind()));
            None
        }
    }

    /// One of a few words, in any case: what it means, or a warning that lists the words.
    pub(super) fn word<T: Copy>(
        &mut self,
        field: &Field<'_>,
        words: &[(&str, T)],
        otherwise: (&str, T),
    ) -> T {
        let text = self.scalar(&field.key, field.place, field.node);
        let word = text.as_ref().map(|text| text.value().trim().to_ascii_lowercase());
        let meaning = words.iter().find(|(known, _)| word.as_deref() == Some(*known));
        if let Some((_, meaning)) = meaning {
            return *meaning;
        }
        let found = text.map_or_else(|| field.node.kind().to_owned(), |text| quoted(text.shown()));
        let listed: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        let message = format!("found {found}, allowed are {}; {}", listed.join(", "), otherwise.0);
        self.warn(field, message);
        otherwise.1
    }

    /// A switch: a boolean or a word that means one.
    pub(super) fn flag(&mut self, field: Option<Field<'_>>, default: bool) -> bool {
        let Some(field) = field else { return default };
        if let Some(value) = self.bool_like(&field) {
            return value;
        }
        let found = match &field.node.value {
            Value::String(written) | Value::Number(_, written) => quoted(written),
            _ => field.node.kind().to_owned(),
        };
        let message = format!(
            "found {found}, allowed are true, 1, yes, on and false, 0, no, off; {default} is used"
        );
        self.warn(&field, message);
        default
    }

    /// What a boolean or a word for one means; nothing for anything else, without a warning
    /// except for its references.
    pub(super) fn bool_like(&mut self, field: &Field<'_>) -> Option<bool> {
        if let Value::Bool(value, _) = field.node.value {
            return Some(value);
        }
        let text = self.scalar(&field.key, field.place, field.node)?;
        switch(text.value())
    }

    /// A number, also one in a string; a warning names what is wrong and `default` is taken.
    fn number(&mut self, field: &Field<'_>, default: &str) -> Option<f64> {
        let text = match &field.node.value {
            Value::Number(value, written) => {
                return self.finite(field, *value, &quoted(written), default);
            }
            Value::String(_) => self.scalar(&field.key, field.place, field.node)?,
            _ => {
                let kind = field.node.kind();
                self.warn(field, format!("must be a number, found {kind}; {default} is used"));
                return None;
            }
        };
        if let Ok(value) = text.value().trim().parse() {
            self.finite(field, value, &quoted(text.shown()), default)
        } else {
            let found = quoted(text.shown());
            self.warn(field, format!("must be a number, found {found}; {default} is used"));
            None
        }
    }

    fn finite(&mut self, field: &Field<'_>, value: f64, found: &str, default: &str) -> Option<f64> {
        if value.is_finite() && value >= 0.0 {
            return Some(value);
        }
        let message = format!("must be a number of at least 0, found {found}; {default} is used");
        self.warn(field, message);
        None
    }

    /// A time in seconds.
    pub(super) fn seconds(&mut self, field: Option<Field<'_>>, rule: &Seconds) -> Duration {
        let Some(field) = field else { return rule.default };
        let default = format!("{}", rule.default.as_secs_f64());
        let Some(seconds) = self.number(&field, &default) else { return rule.default };
        if seconds == 0.0 && rule.zero == Zero::Refused {
            self.warn(&field, format!("must be more than 0 seconds; {default} is used"));
            return rule.default;
        }
        if seconds > MAX_SECONDS {
            self.warn(&field, format!("is more than a year; {MAX_SECONDS} is used"));
            return Duration::from_secs_f64(MAX_SECONDS);
        }
        Duration::try_from_secs_f64(seconds).unwrap_or(rule.default)
    }

    /// A whole number between two bounds.
    pub(super) fn whole(
        &mut self,
        field: Option<Field<'_>>,
        bounds: std::ops::RangeInclusive<u32>,
        default: u32,
    ) -> u32 {
        let Some(field) = field else { return default };
        let Some(value) = self.number(&field, &default.to_string()) else { return default };
        let (least, most) = (f64::from(*bounds.start()), f64::from(*bounds.end()));
        if value.fract() == 0.0 && (least..=most).contains(&value) {
            #[expect(clippy::cast_possible_truncation, reason = "a whole number within bounds")]
            #[expect(clippy::cast_sign_loss, reason = "numbers are at least 0 here")]
            return value as u32;
        }
        let message = format!("must be a whole number from {least} to {most}; {default} is used");
        self.warn(&field, message);
        default
    }

    /// A string or a list of strings; nothing if it is neither, which refuses the server.
    pub(super) fn strings(&mut self, field: &Field<'_>) -> Option<Vec<String>> {
        let Value::List(items) = &field.node.value else {
            let text = self.scalar(&field.key, field.place, field.node);
            if text.is_none() {
                let kind = field.node.kind();
                self.refuse(field, format!("must be a string or a list of strings, found {kind}"));
            }
            return text.map(|text| vec![text.value().to_owned()]);
        };
        let mut strings = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let key = format!("{}[{index}]", field.key);
            if let Some(text) = self.scalar(&key, item.place, item) {
                strings.push(text.value().to_owned());
            } else {
                let message = format!("must be a string, found {}", item.kind());
                self.report(&key, Problem::error(item.place, message));
            }
        }
        Some(strings)
    }
}

/// What a word for a boolean means.
pub(super) fn switch(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// A value as it may stand in a message: short and without control characters.
pub(super) fn quoted(text: &str) -> String {
    let short: String = text.chars().take(MAX_QUOTED).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", short.escape_debug())
}

fn unset_hint(name: &str) -> String {
    if name.is_empty() {
        return "write the name of a variable between the braces".to_owned();
    }
    match name.split_once(":-") {
        Some((variable, _)) => format!("there are no default values; write `${{{variable}}}`"),
        None => "set it in the profile's `.env` or in the environment".to_owned(),
    }
}
