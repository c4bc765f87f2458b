//! The words of a text, in any script: what stands between spaces and signs; where a script has no
//! spaces, pairs of letters.

use std::str::Chars;

use tantivy::tokenizer::{
    AsciiFoldingFilter, LowerCaser, RemoveLongFilter, TextAnalyzer, Token, TokenStream, Tokenizer,
};

/// A longer word is none.
const MAX_WORD_BYTES: usize = 64;

/// Where single letters of scripts without spaces are words too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Singles {
    /// In what is indexed, so that one letter alone can be looked for.
    #[default]
    Always,
    /// In what is looked for: only where there is no pair.
    WhereAlone,
}

/// Splits texts into words of lower case, without accents.
pub(super) fn analyzer(singles: Singles) -> TextAnalyzer {
    TextAnalyzer::builder(Words { singles, token: Token::default() })
        .filter(RemoveLongFilter::limit(MAX_WORD_BYTES))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter)
        .build()
}

#[derive(Debug, Clone, Default)]
struct Words {
    singles: Singles,
    token: Token,
}

/// The words of one text.
struct Stream<'a> {
    text: &'a str,
    singles: Singles,
    /// Where the next word is looked for.
    at: usize,
    /// Whether the letter before was the second of a pair.
    is_paired: bool,
    /// The pair that comes after its first letter.
    pair: Option<(usize, usize)>,
    token: &'a mut Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        self.token.reset();
        let singles = self.singles;
        Stream { text, singles, at: 0, is_paired: false, pair: None, token: &mut self.token }
    }
}

impl Stream<'_> {
    fn rest(&self) -> Chars<'_> {
        self.text.get(self.at..).unwrap_or_default().chars()
    }

    /// Makes a word of a part of the text.
    fn give(&mut self, start: usize, end: usize) -> bool {
        self.token.text.clear();
        let part = self.text.get(start..end).unwrap_or_default();
        self.token.text.extend(part.chars().filter(|letter| !is_accent(*letter)));
        self.token.offset_from = start;
        self.token.offset_to = end;
        self.token.position = self.token.position.wrapping_add(1);
        true
    }
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        if let Some((start, end)) = self.pair.take() {
            return self.give(start, end);
        }
        loop {
            let mut rest = self.rest();
            let Some(letter) = rest.next() else { return false };
            let start = self.at;
            if !letter.is_alphanumeric() {
                self.at += letter.len_utf8();
                self.is_paired = false;
                continue;
            }
            if !has_no_spaces(letter) {
                let is_part = |letter: &char| {
                    (letter.is_alphanumeric() && !has_no_spaces(*letter)) || is_accent(*letter)
                };
                let length: usize = self.rest().take_while(is_part).map(char::len_utf8).sum();
                self.at += length;
                self.is_paired = false;
                return self.give(start, self.at);
            }
            let next = rest.next().filter(|next| next.is_alphanumeric() && has_no_spaces(*next));
            let was_paired = std::mem::replace(&mut self.is_paired, next.is_some());
            self.at += letter.len_utf8();
            let pair = next.map(|next| (start, self.at + next.len_utf8()));
            match (self.singles, pair) {
                (Singles::Always, pair) => {
                    self.pair = pair;
                    return self.give(start, self.at);
                }
                (Singles::WhereAlone, Some((start, end))) => return self.give(start, end),
                (Singles::WhereAlone, None) if !was_paired => return self.give(start, self.at),
                (Singles::WhereAlone, None) => {}
            }
        }
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// Whether a letter is of a script whose words are not divided by spaces, or not by them alone.
fn has_no_spaces(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0e00..=0x0eff       // Thai, Lao
        | 0x1000..=0x109f     // Myanmar
        | 0x1100..=0x11ff | 0xac00..=0xd7af // Hangul
        | 0x1780..=0x17ff     // Khmer
        | 0x3040..=0x30ff | 0x31f0..=0x31ff // Kana
        | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff // Han
    )
}

/// Whether it is an accent that stands behind its letter.
fn is_accent(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(singles: Singles, text: &str) -> Vec<String> {
        let mut analyzer = analyzer(singles);
        let mut stream = analyzer.token_stream(text);
        let mut words = Vec::new();
        stream.process(&mut |token| {
            assert!(text.get(token.offset_from..token.offset_to).is_some());
            words.push(token.text.clone());
        });
        words
    }

    #[test]
    fn words_are_divided_by_all_that_is_no_letter() {
        let text = "Die Größe, u\u{308}ber-all: Straße 42 – Москва!";
        assert_eq!(
            words(Singles::Always, text),
            ["die", "grosse", "uber", "all", "strasse", "42", "москва"]
        );
        assert_eq!(words(Singles::Always, ""), Vec::<String>::new());
        assert_eq!(words(Singles::Always, &"x".repeat(65)), Vec::<String>::new());
    }

    #[test]
    fn scripts_without_spaces_are_cut_into_pairs() {
        assert_eq!(
            words(Singles::WhereAlone, "全文检索 in 東京"),
            ["全文", "文检", "检索", "in", "東京"]
        );
        assert_eq!(words(Singles::WhereAlone, "猫 a猫b"), ["猫", "a", "猫", "b"]);
        assert_eq!(words(Singles::Always, "猫と犬"), ["猫", "猫と", "と", "と犬", "犬"]);
        assert_eq!(words(Singles::WhereAlone, "한국어"), ["한국", "국어"]);
    }

    #[test]
    fn what_is_looked_for_is_among_what_is_indexed() {
        for text in ["全文检索引擎", "abc 猫 def", "ภาษาไทย", "mixed混合text文", "é́é"]
        {
            let indexed = words(Singles::Always, text);
            let wanted = words(Singles::WhereAlone, text);
            assert!(
                !wanted.is_empty() && wanted.iter().all(|word| indexed.contains(word)),
                "{text}"
            );
        }
    }
}
