//! Single values of an entry: strings, switches, numbers and lists, each read in one way.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::node::{Node, Value};
use crate::problem::{Place, Problem};
use crate::reference::{Origin, Reference, Scope};
use crate::secret::{KnownSecret, Secrets};
use crate::section::Field;
use crate::text::Text;

/// The longest time that can be configured: a year.
pub const MAX_SECONDS: f64 = 31_536_000.0;
/// How much of a wrong value is quoted, in characters.
const MAX_QUOTED: usize = 40;

/// Reads values one by one and collects what is wrong with them.
pub struct Reader<'a> {
    /// What references resolve to.
    pub scope: &'a Scope,
    /// Whether what is read takes part; what does not may refer to what is not set.
    pub enabled: bool,
    /// What of the values must never be shown.
    pub secrets: Secrets,
    section: Option<&'a str>,
    manner: Manner,
    problems: Vec<Problem>,
}

/// What becomes of a value that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// A warning names what is used instead.
    Lenient,
    /// It is an error, and so is a key that is not known and a variable that is not set. What
    /// only follows from an error of the same value is not said.
    Strict,
}

/// Which times are allowed, and which one to take otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Seconds {
    /// What is taken where nothing is written.
    pub default: Duration,
    /// Whether 0 is allowed.
    pub zero: Zero,
}

/// What a time of 0 seconds is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zero {
    /// As good as any other.
    Allowed,
    /// A mistake.
    Refused,
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("section", &self.section)
            .field("manner", &self.manner)
            .field("problems", &self.problems)
            .finish_non_exhaustive()
    }
}

impl<'a> Reader<'a> {
    /// A reader of one entry of a file, or of all of it.
    pub fn new(scope: &'a Scope, section: Option<&'a str>, manner: Manner) -> Self {
        let (secrets, problems) = (Secrets::default(), Vec::new());
        Self { scope, enabled: true, secrets, section, manner, problems }
    }

    /// What was wrong, and what must never be shown.
    pub fn finish(self) -> (Vec<Problem>, Vec<KnownSecret>) {
        (self.problems, self.secrets.into_known())
    }

    /// Keeps a problem of this key.
    pub fn report(&mut self, key: &str, problem: Problem) {
        if self.manner == Manner::Strict && problem.is_error() && self.is_refused(key, &problem) {
            return;
        }
        self.keep(key, problem);
    }

    fn keep(&mut self, key: &str, problem: Problem) {
        self.problems.push(match self.section {
            Some(section) => problem.of(section, key),
            None => problem.at(key),
        });
    }

    /// Whether the last thing that was said is an error of the same value.
    fn is_refused(&self, key: &str, problem: &Problem) -> bool {
        self.problems.last().is_some_and(|last| {
            last.is_error()
                && last.key.as_deref() == Some(key)
                && (last.line, last.column) == (problem.line, problem.column)
        })
    }

    /// Warns of a value.
    pub fn warn(&mut self, field: &Field<'_>, message: impl Into<String>) {
        self.report(&field.key, Problem::warning(field.place, message));
    }

    /// Refuses a value.
    pub fn refuse(&mut self, field: &Field<'_>, message: impl Into<String>) {
        self.report(&field.key, Problem::error(field.place, message));
    }

    /// A key that nobody knows.
    pub(crate) fn report_unknown(&mut self, key: &str, place: Place, hint: Option<String>) {
        let problem = match self.manner {
            Manner::Lenient => Problem::warning(place, "is not a known key and is ignored"),
            Manner::Strict => Problem::error(place, "is not a known key"),
        };
        self.report(key, Problem { hint, ..problem });
    }

    /// A value that cannot be used, and what is used instead.
    fn replace(&mut self, field: &Field<'_>, message: &str, instead: &str) {
        match self.manner {
            Manner::Lenient => self.warn(field, format!("{message}; {instead}")),
            Manner::Strict => self.refuse(field, message),
        }
    }

    /// A scalar as a string, with its references resolved; nothing for null, lists and mappings.
    pub fn scalar(&mut self, key: &str, place: Place, node: &Node) -> Option<Text> {
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
    pub fn resolve(&mut self, key: &str, place: Place, written: &str) -> Text {
        let (value, references) = self.scope.resolve(written);
        self.secrets.note_references(&references);
        if self.enabled {
            for reference in &references {
                if let Some(problem) = self.fault_of_reference(place, reference) {
                    // Each of them is said, also where there are several in one value.
                    self.keep(key, problem);
                }
            }
        }
        Text::resolved(written, value)
    }

    fn fault_of_reference(&self, place: Place, reference: &Reference) -> Option<Problem> {
        // What follows `:-` is meant as a value and may be a secret.
        let name = quoted(reference.name.split(":-").next().unwrap_or_default());
        let is_lenient = self.manner == Manner::Lenient;
        if reference.origin == Origin::Unset {
            let problem = if is_lenient {
                let message = format!("the variable {name} is not set; its placeholder is kept");
                Problem::warning(place, message)
            } else {
                Problem::error(place, format!("the variable {name} is not set"))
            };
            return Some(problem.hint(unset_hint(&reference.name)));
        }
        if reference.value.is_empty() {
            let message = format!("the variable {name} is set but empty");
            return Some(match self.manner {
                Manner::Lenient => Problem::warning(place, message),
                Manner::Strict => Problem::error(place, message),
            });
        }
        (reference.value.trim() != reference.value).then(|| {
            let message =
                format!("the value of the variable {name} begins or ends with white space");
            Problem::warning(place, message)
        })
    }

    fn warn_of_whitespace(&mut self, key: &str, place: Place, written: &str) {
        if written.trim() != written {
            let message = "the value begins or ends with white space";
            self.report(key, Problem::warning(place, message).hint("remove it if it is not meant"));
        }
    }

    /// A string that is needed to be one: numbers, lists and mappings are refused.
    pub fn string(&mut self, field: &Field<'_>, wanted: &str) -> Option<Text> {
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
    pub fn path(&mut self, field: &Field<'_>, wanted: &str) -> Option<Text> {
        let text = self.string(field, wanted)?;
        Some(self.expand(field, text))
    }

    /// Expands `~`, or says why not.
    pub fn expand(&mut self, field: &Field<'_>, text: Text) -> Text {
        if let Some(expanded) = self.scope.expand_home(text.value().trim()) {
            return text.with_value(expanded);
        }
        self.warn(field, "`~` is kept because the home directory is not known");
        text
    }

    /// A string that may be left empty, which means that it is not set.
    pub fn optional(&mut self, field: Option<Field<'_>>) -> Option<Text> {
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
    pub fn word<T: Copy>(
        &mut self,
        field: &Field<'_>,
        words: &[(&str, T)],
        otherwise: (&str, T),
    ) -> T {
        self.chosen(field, words, otherwise, |text| text.trim().to_ascii_lowercase())
    }

    /// The same, spelled exactly as listed: for words that grant something.
    pub fn exact_word<T: Copy>(
        &mut self,
        field: &Field<'_>,
        words: &[(&str, T)],
        otherwise: (&str, T),
    ) -> T {
        self.chosen(field, words, otherwise, str::to_owned)
    }

    fn chosen<T: Copy>(
        &mut self,
        field: &Field<'_>,
        words: &[(&str, T)],
        otherwise: (&str, T),
        spelling: fn(&str) -> String,
    ) -> T {
        let text = self.scalar(&field.key, field.place, field.node);
        let word = text.as_ref().map(|text| spelling(text.value()));
        let meaning = words.iter().find(|(known, _)| word.as_deref() == Some(*known));
        if let Some((_, meaning)) = meaning {
            return *meaning;
        }
        let found = text.map_or_else(|| field.node.kind().to_owned(), |text| quoted(text.shown()));
        let listed: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        let message = format!("found {found}, allowed are {}", listed.join(", "));
        self.replace(field, &message, otherwise.0);
        otherwise.1
    }

    /// A switch: a boolean or a word that means one.
    pub fn flag(&mut self, field: Option<Field<'_>>, default: bool) -> bool {
        let Some(field) = field else { return default };
        if let Some(value) = self.bool_like(&field) {
            return value;
        }
        let found = match &field.node.value {
            Value::String(written) | Value::Number(_, written) => quoted(written),
            _ => field.node.kind().to_owned(),
        };
        let message = format!("found {found}, allowed are true, 1, yes, on and false, 0, no, off");
        self.replace(&field, &message, &format!("{default} is used"));
        default
    }

    /// What a boolean or a word for one means; nothing for anything else, without a warning
    /// except for its references.
    pub fn bool_like(&mut self, field: &Field<'_>) -> Option<bool> {
        if let Value::Bool(value, _) = field.node.value {
            return Some(value);
        }
        let text = self.scalar(&field.key, field.place, field.node)?;
        switch(text.value())
    }

    /// A number, also one in a string; a warning names what is wrong and `default` is taken.
    pub fn number(&mut self, field: &Field<'_>, default: &str) -> Option<f64> {
        let text = match &field.node.value {
            Value::Number(value, written) => {
                return self.finite(field, *value, &quoted(written), default);
            }
            Value::String(_) => self.scalar(&field.key, field.place, field.node)?,
            _ => {
                let kind = field.node.kind();
                let message = format!("must be a number, found {kind}");
                self.replace(field, &message, &format!("{default} is used"));
                return None;
            }
        };
        if let Ok(value) = text.value().trim().parse() {
            self.finite(field, value, &quoted(text.shown()), default)
        } else {
            let message = format!("must be a number, found {}", quoted(text.shown()));
            self.replace(field, &message, &format!("{default} is used"));
            None
        }
    }

    fn finite(&mut self, field: &Field<'_>, value: f64, found: &str, default: &str) -> Option<f64> {
        if value.is_finite() && value >= 0.0 {
            return Some(value);
        }
        let message = format!("must be a number of at least 0, found {found}");
        self.replace(field, &message, &format!("{default} is used"));
        None
    }

    /// A time in seconds.
    pub fn seconds(&mut self, field: Option<Field<'_>>, rule: &Seconds) -> Duration {
        let Some(field) = field else { return rule.default };
        let default = format!("{}", rule.default.as_secs_f64());
        let Some(seconds) = self.number(&field, &default) else { return rule.default };
        if seconds == 0.0 && rule.zero == Zero::Refused {
            self.replace(&field, "must be more than 0 seconds", &format!("{default} is used"));
            return rule.default;
        }
        if seconds > MAX_SECONDS {
            self.replace(&field, "is more than a year", &format!("{MAX_SECONDS} is used"));
            return Duration::from_secs_f64(MAX_SECONDS);
        }
        Duration::try_from_secs_f64(seconds).unwrap_or(rule.default)
    }

    /// A whole number between two bounds, both at most 2^53.
    pub fn whole<N>(&mut self, field: Option<Field<'_>>, bounds: RangeInclusive<N>, default: N) -> N
    where
        N: Copy + fmt::Display + Into<u64> + TryFrom<u64>,
    {
        let Some(field) = field else { return default };
        let Some(value) = self.number(&field, &default.to_string()) else { return default };
        let (least, most): (u64, u64) = ((*bounds.start()).into(), (*bounds.end()).into());
        #[expect(clippy::cast_possible_truncation, reason = "compared with the number below")]
        #[expect(clippy::cast_sign_loss, reason = "numbers are at least 0 here")]
        let whole = value as u64;
        #[expect(clippy::cast_precision_loss, reason = "what is lost makes them differ")]
        let is_whole = (whole as f64).total_cmp(&value).is_eq();
        if is_whole
            && (least..=most).contains(&whole)
            && let Ok(whole) = N::try_from(whole)
        {
            return whole;
        }
        let message = format!("must be a whole number from {least} to {most}");
        self.replace(&field, &message, &format!("{default} is used"));
        default
    }

    /// A string or a list of strings; nothing if it is neither, which is an error.
    pub fn strings(&mut self, field: &Field<'_>) -> Option<Vec<String>> {
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
pub fn switch(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// A value as it may stand in a message: short and without control characters.
pub fn quoted(text: &str) -> String {
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

#[cfg(test)]
mod tests;
