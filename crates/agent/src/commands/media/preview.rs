//! A small picture in terminals that can show one, as their environment says.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// How high it is, in lines.
const ROWS: usize = 12;
/// A larger file is not shown.
pub(super) const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// The most of a picture that kitty takes at once, in characters of base64.
const CHUNK: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Kitty,
    Iterm,
}

impl Protocol {
    pub(super) fn of(environment: &BTreeMap<String, String>) -> Option<Self> {
        let is = |name: &str, value: &str| environment.get(name).is_some_and(|it| it == value);
        let has = |name: &str| environment.get(name).is_some_and(|it| !it.is_empty());
        if has("TMUX") || has("STY") {
            // A terminal multiplexer does not pass pictures on.
            return None;
        }
        if has("KITTY_WINDOW_ID") || is("TERM", "xterm-kitty") || is("TERM_PROGRAM", "ghostty") {
            return Some(Self::Kitty);
        }
        let is_iterm = is("TERM_PROGRAM", "iTerm.app") || is("LC_TERMINAL", "iTerm2");
        (is_iterm || is("TERM_PROGRAM", "WezTerm")).then_some(Self::Iterm)
    }

    /// Whether it can show files of this type.
    pub(super) fn shows(self, media_type: &str) -> bool {
        match self {
            Self::Kitty => media_type == "image/png",
            Self::Iterm => media_type.starts_with("image/"),
        }
    }

    pub(super) fn sequence(self, picture: &[u8]) -> Vec<u8> {
        let text = STANDARD.encode(picture);
        match self {
            Self::Iterm => format!(
                "\x1b]1337;File=inline=1;size={};height={ROWS};preserveAspectRatio=1:{text}\x07\n",
                picture.len()
            )
            .into_bytes(),
            Self::Kitty => {
                let mut sequence = Vec::new();
                let mut chunks = text.as_bytes().chunks(CHUNK).peekable();
                // Quiet: an answer of the terminal would look typed.
                let mut control = format!("a=T,f=100,r={ROWS},q=2,");
                while let Some(chunk) = chunks.next() {
                    let more = u8::from(chunks.peek().is_some());
                    sequence.extend(format!("\x1b_G{control}m={more};").into_bytes());
                    sequence.extend(chunk);
                    sequence.extend(b"\x1b\\");
                    control.clear();
                }
                sequence.push(b'\n');
                sequence
            }
        }
    }
}

#[cfg(test)]
mod tests;
