//! Collects violations up to a limit, and computes their lines and columns in one pass.

use std::borrow::Cow;

use super::scan::{Malformed, Scanner, SyntaxProblem};
use super::violation::{Allowed, Problem, Violation};
use super::{MAX_DEPTH, Verdict};

/// A path in the document, as steps from the root, on the stack of the checker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'p> {
    Root,
    Key(&'p str),
    Index(u64),
}

impl<'p> Path<'p> {
    pub(super) const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    pub(super) fn key(&'p self, key: &'p str) -> Path<'p> {
        Path { parent: Some(self), step: Step::Key(key) }
    }

    pub(super) fn index(&'p self, index: u64) -> Path<'p> {
        Path { parent: Some(self), step: Step::Index(index) }
    }

    /// The JSON pointer (RFC 6901).
    fn pointer(&self) -> String {
        let mut pointer = self.parent.map(Path::pointer).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Index(index) => pointer.push_str(&["/", &index.to_string()].concat()),
            Step::Key(key) => {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
        }
        pointer
    }
}

/// A violation before its line is known.
pub(super) struct Finding<'p> {
    pub(super) code: Problem,
    pub(super) path: &'p Path<'p>,
    pub(super) offset: usize,
    pub(super) found: String,
    pub(super) allowed: Allowed,
    pub(super) nearest: Option<Cow<'static, str>>,
}

#[derive(Debug)]
pub(super) struct Findings {
    pub(super) kept: Vec<Violation>,
    pub(super) total: u64,
    pub(super) limit: usize,
}

impl Findings {
    pub(super) fn new(limit: usize) -> Self {
        Findings { kept: Vec::new(), total: 0, limit }
    }

    pub(super) fn report(&mut self, finding: Finding<'_>) {
        self.total += 1;
        self.kept.push(Violation {
            code: finding.code,
            pointer: finding.path.pointer(),
            line: 0,
            column: 0,
            offset: finding.offset,
            found: finding.found,
            allowed: finding.allowed,
            nearest: finding.nearest,
        });
    }

    pub(super) fn encoding(&mut self, offset: usize, found: String) {
        let allowed = Allowed::Rule("UTF-8 text without a byte order mark");
        self.unplaced(Problem::Encoding, offset, found, allowed);
    }

    pub(super) fn malformed(&mut self, text: &str, malformed: Malformed) {
        let next = text.get(malformed.offset..).and_then(|rest| rest.chars().next());
        let here = match next {
            Some(next) => format!("`{}`", next.escape_debug()),
            None => "the end of the document".to_owned(),
        };
        let (found, allowed) = match malformed.why {
            SyntaxProblem::EndOfInput if text.trim().is_empty() => {
                ("the document is empty".to_owned(), "one JSON object")
            }
            SyntaxProblem::EndOfInput => ("the document ends early".to_owned(), "complete JSON"),
            SyntaxProblem::Expected(what) => (format!("found {here}, expected {what}"), what),
            SyntaxProblem::ControlCharacter => (
                format!("unescaped control character {here} in a string"),
                "escaped control characters",
            ),
            SyntaxProblem::BadEscape => (
                "invalid escape sequence".to_owned(),
                r#"\" \\ \/ \b \f \n \r \t and \u with four hex digits"#,
            ),
            SyntaxProblem::LoneSurrogate => {
                ("unpaired surrogate".to_owned(), "surrogate escapes in pairs, high then low")
            }
            SyntaxProblem::BadNumber => (format!("{here} in a number"), "JSON numbers"),
            SyntaxProblem::TooDeep => {
                (format!("more than {MAX_DEPTH} levels of nesting"), "at most four levels")
            }
            SyntaxProblem::TrailingBytes => {
                (format!("{here} after the end of the document"), "whitespace only")
            }
        };
        self.unplaced(Problem::Syntax, malformed.offset, found, Allowed::Rule(allowed));
    }

    fn unplaced(&mut self, code: Problem, offset: usize, found: String, allowed: Allowed) {
        let path = &Path::ROOT;
        self.report(Finding { code, path, offset, found, allowed, nearest: None });
    }

    /// Sorts the violations and adds lines and columns.
    pub(super) fn into_verdict(self, text: &str, entries: u64) -> Verdict {
        let mut violations = self.kept;
        violations.sort_by_key(|violation| violation.offset);
        let mut places = LinePositions::new(text);
        for violation in &mut violations {
            (violation.line, violation.column) = places.advance(violation.offset);
        }
        Verdict { violations, total: self.total, entries }
    }
}

/// Converts ascending byte offsets to lines and columns in one pass.
#[derive(Debug)]
pub(crate) struct LinePositions<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    column: usize,
}

impl<'a> LinePositions<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        LinePositions { text, at: 0, line: 1, column: 1 }
    }

    /// Line and column, from 1, of an offset that is not before the last one.
    pub(crate) fn advance(&mut self, offset: usize) -> (usize, usize) {
        let passed = self.text.get(self.at..offset).unwrap_or_default();
        match passed.rfind('\n') {
            Some(newline) => {
                self.line += passed.bytes().filter(|byte| *byte == b'\n').count();
                self.column = 1 + passed[newline + 1..].chars().count();
            }
            None => self.column += passed.chars().count(),
        }
        self.at = offset.max(self.at);
        (self.line, self.column)
    }
}

#[derive(Debug, Default)]
pub(crate) struct EntryPositions {
    fields: Vec<(String, (usize, usize))>,
    entries: Vec<(usize, usize)>,
}

impl EntryPositions {
    pub(crate) fn find(document: &[u8]) -> Self {
        let mut found = EntryPositions::default();
        let text = std::str::from_utf8(document).unwrap_or_default();
        // A valid document cannot fail; of another one, the positions so far are kept.
        let _ = found.read(text);
        found
    }

    fn read(&mut self, text: &str) -> Result<(), Malformed> {
        let mut scan = Scanner::new(text);
        let mut places = LinePositions::new(text);
        scan.skip_space();
        scan.expect(b'{', "`{`")?;
        let mut first = true;
        while let Some(key) = scan.next_key(first)? {
            first = false;
            let name = key.decode().into_owned();
            let is_metrics = name == "metrics";
            self.fields.push((name, places.advance(scan.at)));
            if !is_metrics {
                scan.skip_value()?;
                continue;
            }
            scan.expect(b'[', "`[`")?;
            while scan.next_item(self.entries.is_empty())? {
                self.entries.push(places.advance(scan.at));
                scan.skip_value()?;
            }
        }
        Ok(())
    }

    pub(crate) fn field(&self, key: &str) -> (usize, usize) {
        let found = self.fields.iter().find(|(name, _)| name == key);
        found.map_or((1, 1), |(_, place)| *place)
    }

    pub(crate) fn entry(&self, index: usize) -> (usize, usize) {
        self.entries.get(index).copied().unwrap_or((1, 1))
    }
}
