//! Tests of `words`.

use super::*;

fn words(singles: Singles, text: &str) -> Vec<String> {
    let words = super::words(text, singles).map(|(word, range)| {
        assert!(text.get(range).is_some());
        word
    });
    words.collect()
}

#[test]
fn words_are_split_at_non_alphanumeric_characters() {
    let text = "Die Größe, u\u{308}ber-all: Straße 42 – Москва!";
    assert_eq!(
        words(Singles::Always, text),
        ["die", "grosse", "uber", "all", "strasse", "42", "москва"]
    );
    assert_eq!(words(Singles::Always, ""), Vec::<String>::new());
    assert_eq!(words(Singles::Always, &"x".repeat(65)), Vec::<String>::new());
}

#[test]
fn scripts_without_spaces_are_split_into_bigrams() {
    assert_eq!(
        words(Singles::WhereAlone, "全文检索 in 東京"),
        ["全文", "文检", "检索", "in", "東京"]
    );
    assert_eq!(words(Singles::WhereAlone, "猫 a猫b"), ["猫", "a", "猫", "b"]);
    assert_eq!(words(Singles::Always, "猫と犬"), ["猫", "猫と", "と", "と犬", "犬"]);
    assert_eq!(words(Singles::WhereAlone, "한국어"), ["한국", "국어"]);
}

#[test]
fn query_words_are_a_subset_of_indexed_words() {
    for text in ["全文检索引擎", "abc 猫 def", "ภาษาไทย", "mixed混合text文", "é́é"]
    {
        let indexed = words(Singles::Always, text);
        let wanted = words(Singles::WhereAlone, text);
        assert!(!wanted.is_empty() && wanted.iter().all(|word| indexed.contains(word)), "{text}");
    }
}
