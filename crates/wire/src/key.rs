//! Keys of members as text: `agk_<public id>_<secret><checksum>`.
//!
//! The public part finds the key, the secret proves it, and the checksum distinguishes a key
//! from a mistyped one, or from other words in a leaked file, without the service.

use std::fmt;

/// Prefix of every key.
pub const PREFIX: &str = "agk_";
const PUBLIC_LENGTH: usize = 12;
/// 33 of 62 letters are 196 random bits.
const SECRET_LENGTH: usize = 33;
/// Six of 62 letters hold 32 bits.
const CHECKSUM_LENGTH: usize = 6;
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Number of random bytes needed for a key.
pub const RANDOM_BYTES: usize = 64;

/// A key with its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    text: String,
}

impl ApiKey {
    /// A new key from random bytes; `None` in the rare case that they are not enough.
    pub fn from_random(bytes: &[u8; RANDOM_BYTES]) -> Option<Self> {
        // A byte below 248 is 4 times each letter; the others would favour some letters.
        let mut letters = bytes
            .iter()
            .filter(|&&byte| byte < 248)
            .filter_map(|&byte| LETTERS.get(usize::from(byte) % LETTERS.len()))
            .map(|&letter| char::from(letter));
        let public: String = letters.by_ref().take(PUBLIC_LENGTH).collect();
        let secret: String = letters.by_ref().take(SECRET_LENGTH).collect();
        if secret.len() < SECRET_LENGTH {
            return None;
        }
        let checksum = checksum(&public, &secret);
        Some(Self { text: format!("{PREFIX}{public}_{secret}{checksum}") })
    }

    /// Parses a key; `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let length = PREFIX.len() + PUBLIC_LENGTH + 1 + SECRET_LENGTH + CHECKSUM_LENGTH;
        if text.len() != length || !text.is_ascii() {
            return None;
        }
        let key = Self { text: text.to_owned() };
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric();
        let is_whole = text.starts_with(PREFIX)
            && key.public_id().bytes().all(is_letter)
            && text.as_bytes().get(PREFIX.len() + PUBLIC_LENGTH) == Some(&b'_')
            && key.secret().bytes().all(is_letter)
            && text.ends_with(&checksum(key.public_id(), key.secret()));
        is_whole.then_some(key)
    }

    /// The public part.
    pub fn public_id(&self) -> &str {
        self.text.get(PREFIX.len()..PREFIX.len() + PUBLIC_LENGTH).unwrap_or_default()
    }

    /// The secret part.
    pub fn secret(&self) -> &str {
        let start = PREFIX.len() + PUBLIC_LENGTH + 1;
        self.text.get(start..start + SECRET_LENGTH).unwrap_or_default()
    }

    /// The whole key.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Hides the secret.
impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{}_…", self.public_id())
    }
}

fn checksum(public: &str, secret: &str) -> String {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(public.as_bytes());
    hasher.update(secret.as_bytes());
    let mut rest = hasher.finalize();
    let mut letters = [b'0'; CHECKSUM_LENGTH];
    for letter in letters.iter_mut().rev() {
        let index = usize::try_from(rest % 62).unwrap_or_default();
        *letter = LETTERS.get(index).copied().unwrap_or(b'0');
        rest /= 62;
    }
    letters.iter().map(|&letter| char::from(letter)).collect()
}

#[cfg(test)]
mod tests;
