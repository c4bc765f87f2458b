//! The name under which a model sees a tool.

use sha2::{Digest, Sha256};

/// The longest name that model APIs accept.
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
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_prefixed_and_cleaned() {
        for (server, tool, expected) in [
            ("my-api", "list-items.v2", "mcp__my_api__list_items_v2"),
            ("github", "list_issues", "mcp__github__list_issues"),
            ("a b", "ü/x", "mcp__a_b____x"),
            ("s", "", "mcp__s__"),
        ] {
            assert_eq!(registered_name(server, tool), expected);
        }
    }

    #[test]
    fn a_name_of_64_characters_is_whole_and_one_more_is_cut() {
        let tool = "t".repeat(64 - "mcp__s__".len());
        assert_eq!(registered_name("s", &tool), format!("mcp__s__{tool}"));
        let longer = registered_name("s", &format!("{tool}t"));
        assert_eq!(longer.len(), 64);
        let whole = hex(&Sha256::digest(format!("mcp__s__{tool}t").as_bytes()));
        assert!(longer.ends_with(&format!("t_{}", &whole[..8])), "{longer}");
    }

    #[test]
    fn long_names_with_one_beginning_stay_apart() {
        let long = "x".repeat(100);
        assert_ne!(
            registered_name("s", &format!("{long}1")),
            registered_name("s", &format!("{long}2"))
        );
    }

    proptest! {
        #[test]
        fn every_name_is_one_a_model_api_takes(server in any::<String>(), tool in ".{0,90}") {
            let name = registered_name(&server, &tool);
            prop_assert!((1..=64).contains(&name.len()), "{}", name);
            prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{}", name);
            prop_assert_eq!(name, registered_name(&server, &tool));
        }
    }
}
