//! A value that is used and never shown.

use std::fmt;

/// The least length of a token or secret that an operator makes up, in characters.
pub const MIN_SECRET_CHARS: usize = 32;

/// A key, token or password. It has no `Display`, cannot be compared by accident, and its `Debug`
/// says nothing of it.
#[derive(Clone)]
pub struct Secret(Box<str>);

impl Secret {
    /// Takes over a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into().into_boxed_str())
    }

    /// The value, for sending or hashing it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_nothing_of_itself() {
        let secret = Secret::new("s3cret");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "Secret Some(Secret)");
        assert_eq!(secret.reveal(), "s3cret");
    }
}
