//! Collects violations up to a limit, and computes their lines and columns in one pass.

use std::borrow::Cow;
use std::collections::HashMap;

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

/// The found value, the allowed ones, and the nearest of these.
pub(super) type ViolationText = (String, Allowed, Option<Cow<'static, str>>);

#[derive(Debug)]
pub(super) struct Findings {
    kept: Vec<Violation>,
    total: u64,
    limit: usize,
}

impl Findings {
    pub(super) fn new(limit: usize) -> Self {
        Findings { kept: Vec::new(), total: 0, limit }
    }

    /// Reports a violation; `describe` is called only if it is kept.
    pub(super) fn report(
        &mut self,
        code: Problem,
        path: &Path<'_>,
        offset: usize,
        describe: impl FnOnce() -> ViolationText,
    ) {
        if self.kept.len() < self.limit {
            self.keep(code, path, offset, describe());
        } else {
            self.total += 1;
        }
    }

    /// Keeps a violation whose line is not known yet.
    fn keep(&mut self, code: Problem, path: &Path<'_>, offset: usize, text: ViolationText) {
        self.total += 1;
        let (pointer, line, column, (found, allowed, nearest)) = (path.pointer(), 0, 0, text);
        let violation = Violation { code, pointer, line, column, offset, found, allowed, nearest };
        self.kept.push(violation);
    }

    pub(super) fn encoding(&mut self, offset: usize, found: String) {
        let allowed = Allowed::Rule("UTF-8 text without a byte order mark");
        self.keep(Problem::Encoding, &Path::ROOT, offset, (found, allowed, None));
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
        let text = (found, Allowed::Rule(allowed), None);
        self.keep(Problem::Syntax, &Path::ROOT, malformed.offset, text);
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
struct LinePositions<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    column: usize,
}

impl<'a> LinePositions<'a> {
    fn new(text: &'a str) -> Self {
        LinePositions { text, at: 0, line: 1, column: 1 }
    }

    /// Line and column, from 1, of an offset that is not before the last one.
    fn advance(&mut self, offset: usize) -> (usize, usize) {
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

/// Line and column of each field of a package and each metric entry, by JSON pointer.
pub(crate) fn positions(document: &[u8]) -> HashMap<String, (usize, usize)> {
    let mut found = HashMap::new();
    // A valid document cannot fail; of another one, the positions so far are kept.
    let _ = find_positions(std::str::from_utf8(document).unwrap_or_default(), &mut found);
    found
}

fn find_positions(
    text: &str,
    found: &mut HashMap<String, (usize, usize)>,
) -> Result<(), Malformed> {
    let mut scan = Scanner::new(text);
    let mut lines = LinePositions::new(text);
    scan.skip_space();
    scan.expect(b'{', "`{`")?;
    while let Some(key) = scan.next_key(found.is_empty())? {
        let pointer = format!("/{}", key.decode());
        let is_metrics = pointer == "/metrics";
        found.insert(pointer, lines.advance(scan.at));
        if !is_metrics {
            scan.skip_value()?;
            continue;
        }
        scan.expect(b'[', "`[`")?;
        let mut index = 0;
        while scan.next_item(index == 0)? {
            found.insert(format!("/metrics/{index}"), lines.advance(scan.at));
            scan.skip_value()?;
            index += 1;
        }
    }
    Ok(())
}
