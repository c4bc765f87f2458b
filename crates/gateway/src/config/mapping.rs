//! A mapping of the file that is being read: its keys are those of the table, and whatever else
//! stands in it is reported.

use std::ops::RangeInclusive;
use std::time::Duration;

use http::Uri;
use settings::{
    Field, Key, Node, Place, Problem, Reader, Seconds, Section, Text, Value, Zero, dotted, nearest,
};

use super::MAX_ALLOWED;
use super::address;
use super::keys;
use super::price::MAX_PRICE_MICROS;
use super::secret::{MIN_SECRET_CHARS, Secret};

/// The keys of one mapping, taken out one by one.
pub(super) struct Mapping<'r, 's, 'n> {
    pub(super) reader: &'r mut Reader<'s>,
    /// Its name in the table, such as `providers.*`.
    table: &'static str,
    /// Its name in the file, such as `providers.openai`.
    path: String,
    pub(super) place: Place,
    section: Section<'n>,
}

/// How long a secret must be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// As long as whoever issued it made it.
    Any,
    /// Long enough not to be guessed.
    Guarded,
}

impl<'r, 's, 'n> Mapping<'r, 's, 'n> {
    /// Opens the value of a field; an error if it is no mapping.
    pub(super) fn open(
        reader: &'r mut Reader<'s>,
        table: &'static str,
        field: &Field<'n>,
    ) -> Option<Self> {
        let Value::Map(entries) = &field.node.value else {
            let kind = field.node.kind();
            let known = keys::listed(table);
            let problem = Problem::error(field.place, format!("must be a mapping, found {kind}"))
                .hint(format!("its keys are {known}"));
            reader.report(&field.key, problem);
            return None;
        };
        Some(Self::of(reader, table, &field.key, (field.place, entries)))
    }

    /// The same, where it is known to be a mapping.
    pub(super) fn of(
        reader: &'r mut Reader<'s>,
        table: &'static str,
        path: &str,
        (place, entries): (Place, &'n [(Key, Node)]),
    ) -> Self {
        let section = Section::open(reader, path, entries);
        Self { reader, table, path: path.to_owned(), place, section }
    }

    /// Takes a key out; one without a value is not there.
    pub(super) fn take(&mut self, name: &str) -> Option<Field<'n>> {
        debug_assert!(keys::find(self.table, name), "{}.{name} is in no table", self.table);
        self.section.take(name)
    }

    /// Reports what was not taken.
    pub(super) fn close(self) {
        let table = self.table;
        self.section.close(self.reader, |name| Some(suggestion(table, name)));
    }

    /// An error of the mapping itself.
    pub(super) fn refuse(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        let problem = Problem::error(self.place, message).hint(hint);
        self.reader.report(&self.path, problem);
    }

    pub(super) fn flag(&mut self, name: &str, default: bool) -> bool {
        let field = self.take(name);
        self.reader.flag(field, default)
    }

    pub(super) fn whole<N>(&mut self, name: &str, bounds: RangeInclusive<N>, default: N) -> N
    where
        N: Copy + std::fmt::Display + Into<u64> + TryFrom<u64>,
    {
        let field = self.take(name);
        self.reader.whole(field, bounds, default)
    }

    /// A whole number that may be left out.
    pub(super) fn some_whole<N>(&mut self, name: &str, bounds: RangeInclusive<N>) -> Option<N>
    where
        N: Copy + std::fmt::Display + Into<u64> + TryFrom<u64>,
    {
        let field = self.take(name)?;
        let least = *bounds.start();
        Some(self.reader.whole(Some(field), bounds, least))
    }

    /// A time in seconds of more than 0.
    pub(super) fn seconds(&mut self, name: &str, default: Duration) -> Duration {
        let field = self.take(name);
        self.reader.seconds(field, &Seconds { default, zero: Zero::Refused })
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(&mut self, name: &str, words: &[(&str, T)], default: T) -> T {
        match self.take(name) {
            Some(field) => self.reader.word(&field, words, ("", default)),
            None => default,
        }
    }

    /// A text that must be one.
    pub(super) fn text(&mut self, name: &str, wanted: &str) -> Option<Text> {
        let field = self.take(name)?;
        self.reader.string(&field, wanted)
    }

    /// A price that may be left out.
    pub(super) fn price(&mut self, name: &str) -> Option<i64> {
        let field = self.take(name)?;
        Some(price(self.reader, &field))
    }

    /// A secret that may be left out.
    pub(super) fn secret(&mut self, name: &str, length: Length) -> Option<Secret> {
        let field = self.take(name)?;
        secret(self.reader, &field, length)
    }
}

/// A secret; one that stands in the file itself is warned of.
pub(super) fn secret(reader: &mut Reader<'_>, field: &Field<'_>, length: Length) -> Option<Secret> {
    let text = reader.string(field, "a string, best a reference such as `${NAME}`")?;
    let value = text.value().trim().to_owned();
    if length == Length::Guarded && value.chars().count() < MIN_SECRET_CHARS {
        let message = format!("must be at least {MIN_SECRET_CHARS} characters long");
        let problem = Problem::error(field.place, message);
        reader.report(&field.key, problem.hint("make one with `openssl rand -hex 32`"));
        return None;
    }
    if !value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
        reader.refuse(field, "may only hold printable ASCII characters");
        return None;
    }
    warn_of_plain_text(reader, field, &text);
    reader.secrets.whole(&field.key, text);
    Some(Secret::new(value))
}

/// An http or https address, without a `/` at its end.
pub(super) fn address(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Uri> {
    let text = reader.string(field, "an http or https address")?;
    address::parse(text.value().trim())
        .map_err(|fault| {
            let problem = Problem::error(field.place, fault.to_string()).hint(fault.hint());
            reader.report(&field.key, problem);
        })
        .ok()
}

/// A price in whole micro-credits.
pub(super) fn price(reader: &mut Reader<'_>, field: &Field<'_>) -> i64 {
    let micros = match &field.node.value {
        // What is written decides, so that a fraction or a sign is told as what it is.
        Value::Number(value, written) if *value < 0.0 || value.fract() != 0.0 => {
            let problem = Problem::error(
                field.place,
                format!("must be a whole number of micro-credits, at least 0, found `{written}`"),
            );
            reader.report(&field.key, problem.hint("1 credit is 1000000 micro-credits"));
            return 0;
        }
        _ => reader.whole(Some(field.clone()), 0..=MAX_PRICE_MICROS.unsigned_abs(), 0),
    };
    i64::try_from(micros).unwrap_or(MAX_PRICE_MICROS)
}

/// Warns of a secret that stands in the file itself.
pub(super) fn warn_of_plain_text(reader: &mut Reader<'_>, field: &Field<'_>, text: &Text) {
    if !text.written().contains("${") {
        let problem = Problem::warning(field.place, "a secret stands in the file as plain text");
        reader.report(
            &field.key,
            problem.hint(
                "write a reference such as `${NAME}` and set it in the profile's `.env` or in the \
             environment",
            ),
        );
    }
}

/// A list of texts that `read` understands, at most [`MAX_ALLOWED`].
pub(super) fn list<T>(
    reader: &mut Reader<'_>,
    field: &Field<'_>,
    read: fn(&str) -> Option<T>,
    wanted: &str,
) -> Vec<T> {
    let texts = reader.strings(field).unwrap_or_default();
    if texts.len() > MAX_ALLOWED {
        reader.refuse(field, format!("has more than {MAX_ALLOWED} entries"));
        return Vec::new();
    }
    let mut known = Vec::new();
    for (place, text) in texts.iter().enumerate() {
        if let Some(value) = read(text.trim()) {
            known.push(value);
            continue;
        }
        // The text may be what a variable became: it is not repeated.
        let message = format!("entry {} is not {wanted}", place + 1);
        reader.report(&field.key, Problem::error(field.place, message));
    }
    known
}

/// What somebody who wrote this key probably meant.
fn suggestion(table: &str, name: &str) -> String {
    if let Some((_, known)) = nearest(name, keys::names(table)) {
        return format!("did you mean `{known}`?");
    }
    // A key of another section that stands in the wrong one.
    match keys::SECTIONS.iter().find(|other| keys::find(other.name, name)) {
        Some(other) => {
            format!("did you mean `{}`?", dotted(&other.name.replace('*', "NAME"), name))
        }
        None => format!("known here are {}", keys::listed(table)),
    }
}
