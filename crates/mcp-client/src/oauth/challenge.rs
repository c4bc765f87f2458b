//! Parsing of `WWW-Authenticate` challenges.
//!
//! Parsing never fails: unreadable parts are skipped, since a slightly malformed header still tells
//! where to sign in.

/// Maximum number of challenges in one header; further ones are ignored.
pub const MAX_CHALLENGES: usize = 16;
/// Maximum number of parameters of one challenge; further ones are ignored.
pub const MAX_PARAMS: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    scheme: String,
    params: Vec<(String, String)>,
}

impl Challenge {
    /// The scheme in lower case, such as `bearer`.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The first value of a parameter. Names are case-insensitive.
    pub fn param(&self, name: &str) -> Option<&str> {
        let named = |(known, _): &&(String, String)| known.eq_ignore_ascii_case(name);
        self.params.iter().find(named).map(|(_, value)| value.as_str())
    }

    fn add(&mut self, name: &str, value: String) {
        if self.params.len() < MAX_PARAMS && self.param(name).is_none() {
            self.params.push((name.to_ascii_lowercase(), value));
        }
    }
}

/// The challenges of a header in order. Join several headers by `", "` first.
pub fn parse(header: &str) -> Vec<Challenge> {
    let mut reader = Reader { rest: header };
    let mut challenges: Vec<Challenge> = Vec::new();
    // A challenge starts the header or follows a comma.
    let mut may_begin = true;
    loop {
        may_begin |= reader.skip_gap();
        match reader.piece(may_begin) {
            None => return challenges,
            Some(Piece::Scheme(_)) if challenges.len() == MAX_CHALLENGES => return challenges,
            Some(Piece::Scheme(scheme)) => {
                let scheme = scheme.to_ascii_lowercase();
                challenges.push(Challenge { scheme, params: Vec::new() });
                reader.skip_token68();
            }
            Some(Piece::Param(name, value)) => {
                if let Some(challenge) = challenges.last_mut() {
                    challenge.add(name, value);
                }
            }
            Some(Piece::Unreadable) => {}
        }
        may_begin = false;
    }
}

enum Piece<'h> {
    Scheme(&'h str),
    Param(&'h str, String),
    Unreadable,
}

/// The unread rest of a header. All delimiters are ASCII, so every cut is a character boundary.
struct Reader<'h> {
    rest: &'h str,
}

impl<'h> Reader<'h> {
    /// The next piece. Always consumes input.
    fn piece(&mut self, may_begin: bool) -> Option<Piece<'h>> {
        if self.rest.is_empty() {
            return None;
        }
        let word = self.take_while(is_token);
        if word.is_empty() {
            self.skip_element();
            return Some(Piece::Unreadable);
        }
        let is_whole = self.rest.is_empty() || self.rest.starts_with(is_gap);
        if let Some(value) = self.rest.trim_start_matches(is_space).strip_prefix('=') {
            self.rest = value.trim_start_matches(is_space);
            let value = self.value().map(|value| Piece::Param(word, value));
            return Some(value.unwrap_or(Piece::Unreadable));
        }
        if !is_whole {
            self.skip_element();
        }
        Some(if is_whole && may_begin { Piece::Scheme(word) } else { Piece::Unreadable })
    }

    /// The value after an equals sign: quoted, or up to the next gap. Unquoted URLs violate the
    /// grammar, but some servers send them.
    fn value(&mut self) -> Option<String> {
        if self.rest.starts_with('"') {
            return self.quoted();
        }
        let value = self.take_while(|letter| !is_gap(letter));
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// A quoted string. An unterminated one consumes the rest.
    fn quoted(&mut self) -> Option<String> {
        let mut value = String::new();
        let mut letters = self.rest.char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Some(value);
                }
                '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
                _ => value.push(letter),
            }
        }
        self.rest = "";
        None
    }

    /// Skips the token68 that may follow a scheme instead of parameters.
    fn skip_token68(&mut self) {
        let text = self.rest.trim_start_matches(is_space);
        let after = text.trim_start_matches(is_token68).trim_start_matches('=');
        let end = after.trim_start_matches(is_space);
        if end.is_empty() || end.starts_with(',') {
            self.rest = end;
        }
    }

    /// Skips to the next comma outside of quotes.
    fn skip_element(&mut self) {
        while let Some(at) = self.rest.find([',', '"']) {
            self.rest = &self.rest[at..];
            if self.rest.starts_with(',') {
                return;
            }
            self.quoted();
        }
        self.rest = "";
    }

    /// Skips spaces and commas; whether there was a comma.
    fn skip_gap(&mut self) -> bool {
        self.take_while(is_gap).contains(',')
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'h str {
        let rest = self.rest;
        let end = rest.find(|letter| !wanted(letter)).unwrap_or(rest.len());
        let (taken, rest) = rest.split_at(end);
        self.rest = rest;
        taken
    }
}

fn is_token(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter)
}

fn is_token68(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-._~+/".contains(letter)
}

fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n')
}

fn is_gap(letter: char) -> bool {
    is_space(letter) || letter == ','
}

#[cfg(test)]
mod tests;
