//! A strict JSON scanner that tracks positions.
//!
//! It accepts exactly RFC 8259, rejects lone surrogates, never recurses, and does not allocate
//! while skipping.

use std::borrow::Cow;

/// Maximum nesting of skipped values. A package has four levels.
pub const MAX_DEPTH: u32 = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) offset: usize,
    pub(super) why: SyntaxProblem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyntaxProblem {
    EndOfInput,
    Expected(&'static str),
    ControlCharacter,
    BadEscape,
    LoneSurrogate,
    BadNumber,
    TooDeep,
    TrailingBytes,
}

/// A string in the input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a> {
    /// With its quotes.
    raw: &'a str,
    escaped: bool,
    /// The position of the opening quote.
    pub(super) offset: usize,
}

impl<'a> Text<'a> {
    pub(super) fn decode(&self) -> Cow<'a, str> {
        if self.escaped {
            // The scanner has validated the escapes.
            Cow::Owned(serde_json::from_str(self.raw).unwrap_or_default())
        } else {
            Cow::Borrowed(&self.raw[1..self.raw.len() - 1])
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Object,
    Array,
    String,
    Number,
    Literal,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    pub(super) at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Scanner { text, at: 0 }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    pub(super) fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn malformed<T>(&self, why: SyntaxProblem) -> Result<T, Malformed> {
        let why = if self.at >= self.text.len() { SyntaxProblem::EndOfInput } else { why };
        Err(Malformed { offset: self.at, why })
    }

    pub(super) fn expect(&mut self, byte: u8, name: &'static str) -> Result<(), Malformed> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            self.malformed(SyntaxProblem::Expected(name))
        }
    }

    /// The type of the value here, by its first byte.
    pub(super) fn shape(&self) -> Result<Shape, Malformed> {
        match self.peek() {
            Some(b'{') => Ok(Shape::Object),
            Some(b'[') => Ok(Shape::Array),
            Some(b'"') => Ok(Shape::String),
            Some(b'-' | b'0'..=b'9') => Ok(Shape::Number),
            Some(b't' | b'f' | b'n') => Ok(Shape::Literal),
            _ => self.malformed(SyntaxProblem::Expected("a value")),
        }
    }

    /// Skips `{` or moves to the next `"key":` of an object; `None` at its end.
    pub(super) fn next_key(&mut self, first: bool) -> Result<Option<Text<'a>>, Malformed> {
        if !self.has_more(first, b'}', "`,` or `}`")? {
            return Ok(None);
        }
        if self.peek() != Some(b'"') {
            return self.malformed(SyntaxProblem::Expected(if first {
                "a quoted key or `}`"
            } else {
                "a quoted key"
            }));
        }
        let key = self.string()?;
        self.skip_space();
        self.expect(b':', "`:`")?;
        self.skip_space();
        Ok(Some(key))
    }

    /// Moves to the next item of an array; false at its end.
    pub(super) fn next_item(&mut self, first: bool) -> Result<bool, Malformed> {
        let more = self.has_more(first, b']', "`,` or `]`")?;
        if more && !first && self.peek() == Some(b']') {
            return self.malformed(SyntaxProblem::Expected("a value"));
        }
        Ok(more)
    }

    /// Skips `close`, which ends an object or array, or the comma before its next element.
    fn has_more(
        &mut self,
        first: bool,
        close: u8,
        expected: &'static str,
    ) -> Result<bool, Malformed> {
        self.skip_space();
        match (first, self.peek()) {
            (_, Some(byte)) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            (true, _) => Ok(true),
            (false, Some(b',')) => {
                self.at += 1;
                self.skip_space();
                Ok(true)
            }
            (false, _) => self.malformed(SyntaxProblem::Expected(expected)),
        }
    }

    pub(super) fn string(&mut self) -> Result<Text<'a>, Malformed> {
        let offset = self.at;
        self.expect(b'"', "a string")?;
        let mut escaped = false;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(0..=0x1f) => return self.malformed(SyntaxProblem::ControlCharacter),
                Some(_) => self.at += 1,
                None => return self.malformed(SyntaxProblem::EndOfInput),
            }
        }
        self.at += 1;
        Ok(Text { raw: &self.text[offset..self.at], escaped, offset })
    }

    fn escape(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        match self.bytes().get(start + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                return Ok(());
            }
            Some(b'u') => {}
            Some(_) => return self.malformed(SyntaxProblem::BadEscape),
            None => {
                self.at += 1;
                return self.malformed(SyntaxProblem::EndOfInput);
            }
        }
        let lone = Err(Malformed { offset: start, why: SyntaxProblem::LoneSurrogate });
        match self.unit(start) {
            None => self.malformed(SyntaxProblem::BadEscape),
            Some(0xdc00..=0xdfff) => lone,
            Some(0xd800..=0xdbff) => match self.unit(start + 6) {
                Some(0xdc00..=0xdfff) => {
                    self.at += 12;
                    Ok(())
                }
                _ => lone,
            },
            Some(_) => {
                self.at += 6;
                Ok(())
            }
        }
    }

    /// The UTF-16 unit of a `\\uXXXX` at `at`.
    fn unit(&self, at: usize) -> Option<u32> {
        let hex = self.bytes().get(at..at + 6)?.strip_prefix(b"\\u")?;
        if !hex.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
    }

    pub(super) fn number(&mut self) -> Result<&'a str, Malformed> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return self.malformed(SyntaxProblem::BadNumber),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    fn digits(&mut self) -> Result<(), Malformed> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return self.malformed(SyntaxProblem::BadNumber);
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn literal(&mut self) -> Result<(), Malformed> {
        for word in ["true", "false", "null"] {
            if self.bytes()[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(());
            }
        }
        Err(Malformed { offset: self.at, why: SyntaxProblem::Expected("a value") })
    }

    pub(super) fn skip_value(&mut self) -> Result<(), Malformed> {
        // One bit per open level: set for an object, clear for an array.
        let mut open: u128 = 0;
        let mut levels: u32 = 0;
        loop {
            let mut first = false;
            match self.shape()? {
                Shape::String => drop(self.string()?),
                Shape::Number => drop(self.number()?),
                Shape::Literal => self.literal()?,
                shape @ (Shape::Object | Shape::Array) => {
                    if levels >= MAX_DEPTH {
                        return Err(Malformed { offset: self.at, why: SyntaxProblem::TooDeep });
                    }
                    self.at += 1;
                    levels += 1;
                    open = (open << 1) | u128::from(shape == Shape::Object);
                    first = true;
                }
            }
            // Moves to the next value and closes the levels that end here.
            loop {
                if levels == 0 {
                    return Ok(());
                }
                let more = if open & 1 == 1 {
                    self.next_key(first)?.is_some()
                } else {
                    self.next_item(first)?
                };
                if more {
                    break;
                }
                levels -= 1;
                open >>= 1;
                first = false;
            }
        }
    }

    /// Only white space may follow.
    pub(super) fn end(&mut self) -> Result<(), Malformed> {
        self.skip_space();
        if self.at == self.text.len() {
            Ok(())
        } else {
            self.malformed(SyntaxProblem::TrailingBytes)
        }
    }
}
