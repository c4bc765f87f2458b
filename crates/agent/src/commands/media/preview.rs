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
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<Protocol> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Protocol::of(&variables.iter().map(own).collect())
    }

    #[test]
    fn terminals_are_known_by_their_environment() {
        assert_eq!(of(&[("KITTY_WINDOW_ID", "1")]), Some(Protocol::Kitty));
        assert_eq!(of(&[("TERM", "xterm-kitty")]), Some(Protocol::Kitty));
        assert_eq!(of(&[("TERM_PROGRAM", "iTerm.app")]), Some(Protocol::Iterm));
        assert_eq!(of(&[("TERM_PROGRAM", "WezTerm")]), Some(Protocol::Iterm));
        for other in [&[("TERM", "xterm-256color")][..], &[], &[("KITTY_WINDOW_ID", "")]] {
            assert_eq!(of(other), None);
        }
        assert_eq!(of(&[("KITTY_WINDOW_ID", "1"), ("TMUX", "/tmp/x")]), None);
    }

    #[test]
    fn a_picture_is_sent_in_pieces_that_kitty_takes() {
        let sequence = Protocol::Kitty.sequence(&[7; 7000]);
        let text = String::from_utf8(sequence).unwrap();
        let pieces: Vec<&str> = text.split("\x1b\\").collect();
        assert_eq!(pieces.len(), 4, "three pieces and a line end");
        assert!(pieces[0].starts_with("\x1b_Ga=T,f=100,r=12,q=2,m=1;"));
        assert!(pieces[1].starts_with("\x1b_Gm=1;") && pieces[2].starts_with("\x1b_Gm=0;"));
        let joined: String =
            pieces[..3].iter().map(|piece| piece.split_once(';').unwrap().1).collect();
        assert_eq!(STANDARD.decode(joined).unwrap(), [7; 7000]);
        let one = String::from_utf8(Protocol::Iterm.sequence(b"abc")).unwrap();
        assert!(one.starts_with("\x1b]1337;File=inline=1;size=3;") && one.ends_with(":YWJj\x07\n"));
    }
}
