//! The name under which a model sees a tool.

use sha2::{Digest, Sha256};

/// Maximum length of a name that model APIs accept.
pub const MAX_NAME_CHARS: usize = 64;
const HASH_DIGITS: usize = 8;

/// `mcp__<server>__<tool>`, with `_` for every other character than ASCII letters, digits and
/// underscores. A name over [`MAX_NAME_CHARS`] is cut and ends in `_` and eight digits of the
/// SHA-256 of the whole, so it depends only on the two names.
pub fn registered_name(server: &str, tool: &str) -> String {
    let mut name = String::with_capacity(server.len() + tool.len() + 7);
    name.push_str("mcp__");
    name.extend(server.chars().map(plain));
    name.push_str("__");
    name.extend(tool.chars().map(plain));
    if name.len() > MAX_NAME_CHARS {
        let hash = hex(&Sha256::digest(name.as_bytes()));
        name.truncate(MAX_NAME_CHARS - 1 - HASH_DIGITS);
        name.push('_');
        name.push_str(&hash[..HASH_DIGITS]);
    }
    name
}

fn plain(character: char) -> char {
    if character.is_ascii_alphanumeric() { character } else { '_' }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests;
