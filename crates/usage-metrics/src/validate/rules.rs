//! Checks every rule of the specification and describes violations.

use std::borrow::Cow;

use super::datetime::is_date_time;
use super::fast_path::ENTRY_KEYS;
use super::findings::{Findings, Path};
use super::number::{Count, count};
use super::scan::{Malformed, Scanner, Shape};
use super::violation::{Allowed, Problem, excerpt, shorten};
use super::{is_uuid, nearest};
use crate::catalogue::{
    COUNTER_TYPE, Domain, Kind, MAX_VERSION_CHARS, NAMES, RESOURCE, RESOURCE_KEYS, SCHEMA_VERSION,
    is_identifier,
};

/// The fields of a package, sorted.
pub(crate) const PACKAGE_KEYS: &[&str] = &[
    "generated_at", "install_id", "metrics", "package_id", "period_end", "period_start",
    "resource", "schema_version",
];

const UUID_RULE: &str =
    "a UUID in lowercase hex, 8-4-4-4-12, version digit 1 to 5, variant digit 8, 9, a or b";
const DATE_TIME_RULE: &str = "an RFC 3339 date-time such as 2026-07-28T00:00:00Z";
const MODEL_RULE: &str = "1 to 256 characters: a lowercase letter or digit, then lowercase \
                          letters, digits and . _ : / @ + -";
const PROVIDER_RULE: &str = "1 to 64 characters: a lowercase letter or digit, then lowercase \
                             letters, digits and . _ : / @ + -";

/// Returns the end of an entry that it accepts.
pub(super) type FastPath = fn(&[u8], usize) -> Option<usize>;

#[derive(Debug)]
pub(super) struct RuleChecker<'a> {
    scan: Scanner<'a>,
    findings: Findings,
    entries: u64,
    fast_path: FastPath,
}

type ScanResult = Result<(), Malformed>;

impl<'a> RuleChecker<'a> {
    pub(super) fn new(text: &'a str, findings: Findings, fast_path: FastPath) -> Self {
        RuleChecker { scan: Scanner::new(text), findings, entries: 0, fast_path }
    }

    pub(super) fn finish(self) -> (Findings, u64) {
        (self.findings, self.entries)
    }

    pub(super) fn document(&mut self) {
        let text = self.scan.text();
        if text.starts_with('\u{feff}') {
            let found = "the document starts with a byte order mark".to_owned();
            self.findings.encoding(0, found);
            self.scan.at = '\u{feff}'.len_utf8();
        }
        if let Err(malformed) = self.package() {
            self.findings.malformed(text, malformed);
        }
    }

    fn package(&mut self) -> ScanResult {
        self.scan.skip_space();
        self.object(PACKAGE_KEYS, &Path::ROOT, |checker, key, path| match key {
            "generated_at" | "period_end" | "period_start" => {
                checker.text(path, TextRule::DateTime).map(drop)
            }
            "install_id" | "package_id" => checker.text(path, TextRule::Uuid).map(drop),
            "metrics" => checker.metrics(path),
            "resource" => checker.resource(path),
            _ => checker.text(path, TextRule::Exactly(SCHEMA_VERSION)).map(drop),
        })?;
        self.scan.end()
    }

    fn resource(&mut self, path: &Path<'_>) -> ScanResult {
        self.object(RESOURCE_KEYS, path, |checker, key, path| {
            let field = RESOURCE.iter().find(|field| field.key == key);
            let rule = field.map_or(TextRule::Version, |field| TextRule::Of(field.domain));
            checker.text(path, rule).map(drop)
        })
    }

    fn metrics(&mut self, path: &Path<'_>) -> ScanResult {
        let start = self.scan.at;
        if self.scan.shape()? != Shape::Array {
            return self.wrong_type(path, "an array of metric entries");
        }
        self.scan.at += 1;
        let mut index = 0;
        while self.scan.next_item(index == 0)? {
            match (self.fast_path)(self.scan.text().as_bytes(), self.scan.at) {
                Some(end) => self.scan.at = end,
                None => self.entry(&path.index(index))?,
            }
            index += 1;
            self.entries = index;
        }
        if index == 0 {
            self.findings.report(Problem::Empty, path, start, || {
                ("an empty array".to_owned(), Allowed::Rule("at least 1 entry"), None)
            });
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path<'_>) -> ScanResult {
        let mut kind = None;
        let mut dimensions_at = None;
        let mut value_at = None;
        self.object(ENTRY_KEYS, path, |checker, key, path| match key {
            // The allowed content depends on the name, which may follow.
            "dimensions" => {
                dimensions_at = Some(checker.scan.at);
                checker.scan.skip_value()
            }
            "value" => {
                value_at = Some(checker.scan.at);
                checker.scan.skip_value()
            }
            "name" => {
                let name = checker.text(path, TextRule::Of(Domain::Listed(NAMES)))?;
                kind = name.and_then(|name| Kind::parse(&name));
                Ok(())
            }
            _ => checker.text(path, TextRule::Exactly(COUNTER_TYPE)).map(drop),
        })?;
        let end = self.scan.at;
        if let Some(at) = value_at {
            self.scan.at = at;
            self.value(&path.key("value"), kind)?;
        }
        if let Some(at) = dimensions_at {
            self.scan.at = at;
            self.dimensions(&path.key("dimensions"), kind)?;
        }
        self.scan.at = end;
        Ok(())
    }

    fn dimensions(&mut self, path: &Path<'_>, kind: Option<Kind>) -> ScanResult {
        let Some(kind) = kind else {
            // Without a kind only the type is checked.
            return match self.scan.shape()? {
                Shape::Object => Ok(()),
                _ => self.wrong_type(path, "an object"),
            };
        };
        let spec = kind.spec();
        self.object(spec.keys, path, |checker, key, path| {
            match spec.dimensions.iter().find(|dimension| dimension.key == key) {
                Some(dimension) => checker.text(path, TextRule::Of(dimension.domain)).map(drop),
                None => Ok(()),
            }
        })
    }

    fn value(&mut self, path: &Path<'_>, kind: Option<Kind>) -> ScanResult {
        let exactly_one = kind == Some(Kind::ClientActive);
        let rule = if exactly_one { "exactly 1" } else { "an integer of at least 1" };
        if self.scan.shape()? != Shape::Number {
            return self.wrong_type(path, rule);
        }
        let offset = self.scan.at;
        let number = self.scan.number()?;
        let nearest = match count(number) {
            Count::Integer { one } if one || !exactly_one => return Ok(()),
            Count::OutOfRange => None,
            _ => Some("1".into()),
        };
        self.findings.report(Problem::BadValue, path, offset, || {
            (excerpt(number), Allowed::Rule(rule), nearest)
        });
        Ok(())
    }

    /// Reads a string and checks it; returns it, unless it has another type.
    fn text(&mut self, path: &Path<'_>, rule: TextRule) -> Result<Option<Cow<'a, str>>, Malformed> {
        if self.scan.shape()? != Shape::String {
            return self.wrong_type(path, "a string").map(|()| None);
        }
        let text = self.scan.string()?;
        let found = text.decode();
        let (is_valid, code, allowed) = rule.check(&found);
        if !is_valid {
            self.findings.report(code, path, text.offset, || {
                (quoted(&found), allowed, rule.nearest(&found))
            });
        }
        Ok(Some(found))
    }

    /// Reads an object; `field` is called for each known key, at its value.
    fn object(
        &mut self,
        keys: &'static [&'static str],
        path: &Path<'_>,
        mut field: impl FnMut(&mut Self, &'static str, &Path<'_>) -> ScanResult,
    ) -> ScanResult {
        let start = self.scan.at;
        if self.scan.shape()? != Shape::Object {
            return self.wrong_type(path, "an object");
        }
        self.scan.at += 1;
        let mut seen = 0_u32;
        let mut first = true;
        while let Some(key) = self.scan.next_key(first)? {
            first = false;
            let name = key.decode();
            let place = path.key(&name);
            match keys.iter().position(|known| *known == name) {
                Some(at) if seen & (1 << at) == 0 => {
                    seen |= 1 << at;
                    field(self, keys[at], &place)?;
                    continue;
                }
                Some(_) => {
                    self.findings.report(Problem::DuplicateKey, &place, key.offset, || {
                        (quoted(&name), Allowed::Rule("each key once"), None)
                    });
                }
                None => self.findings.report(Problem::UnknownField, &place, key.offset, || {
                    (quoted(&name), Allowed::Listed(keys), nearest::listed(&name, keys))
                }),
            }
            self.scan.skip_value()?;
        }
        for (_, key) in keys.iter().enumerate().filter(|(at, _)| seen & (1 << at) == 0) {
            self.findings.report(Problem::MissingField, path, start, || {
                (quoted(key), Allowed::Listed(keys), None)
            });
        }
        Ok(())
    }

    fn wrong_type(&mut self, path: &Path<'_>, rule: &'static str) -> ScanResult {
        let offset = self.scan.at;
        let shape = self.scan.shape()?;
        self.scan.skip_value()?;
        let text = self.scan.text().get(offset..self.scan.at).unwrap_or_default();
        self.findings.report(Problem::WrongType, path, offset, || {
            let found = match shape {
                Shape::Object => "an object".to_owned(),
                Shape::Array => "an array".to_owned(),
                Shape::String | Shape::Number | Shape::Literal => shorten(text),
            };
            (found, Allowed::Rule(rule), None)
        });
        Ok(())
    }
}

/// What a string must be.
#[derive(Debug, Clone, Copy)]
enum TextRule {
    Exactly(&'static str),
    Of(Domain),
    Version,
    Uuid,
    DateTime,
}

impl TextRule {
    /// Whether the text is valid, the problem otherwise, and what is allowed.
    fn check(self, found: &str) -> (bool, Problem, Allowed) {
        match self {
            Self::Exactly(text) => (found == text, Problem::NotAllowed, Allowed::Exactly(text)),
            Self::Of(Domain::Listed(texts)) => {
                (texts.contains(&found), Problem::NotAllowed, Allowed::Listed(texts))
            }
            Self::Of(Domain::Identifier { max_chars }) => {
                let rule = if max_chars > 64 { MODEL_RULE } else { PROVIDER_RULE };
                let is_valid = is_identifier(found, max_chars);
                (is_valid, Problem::BadIdentifier, Allowed::Rule(rule))
            }
            Self::Version => {
                let chars = found.chars().take(MAX_VERSION_CHARS + 1).count();
                let is_valid = (1..=MAX_VERSION_CHARS).contains(&chars);
                (is_valid, Problem::BadLength, Allowed::Rule("1 to 64 characters"))
            }
            Self::Uuid => (is_uuid(found), Problem::BadUuid, Allowed::Rule(UUID_RULE)),
            Self::DateTime => {
                (is_date_time(found), Problem::BadDateTime, Allowed::Rule(DATE_TIME_RULE))
            }
        }
    }

    fn nearest(self, found: &str) -> Option<Cow<'static, str>> {
        match self {
            Self::Exactly(text) => nearest::listed(found, &[text]),
            Self::Of(Domain::Listed(texts)) => nearest::listed(found, texts),
            Self::Of(Domain::Identifier { max_chars }) => nearest::identifier(found, max_chars),
            Self::Version => None,
            Self::Uuid => nearest::uuid(found),
            Self::DateTime => nearest::date_time(found),
        }
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", excerpt(text))
}
