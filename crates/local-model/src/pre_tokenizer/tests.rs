//! Tests of `pre_tokenizer`.

use super::*;

#[test]
fn each_kind_of_model_has_its_words() {
    let words = |name: &str, text: &'static str| -> Vec<String> {
        let splitter = PreTokenizer::named(name).unwrap();
        splitter.words(text).map(str::to_owned).collect()
    };
    let text = "I'll  pay 120\u{a0}€ \n\n now";
    assert_eq!(
        words("gpt-2", text),
        ["I", "'ll", " ", " pay", " 120", "\u{a0}", "€", " \n\n", " now"]
    );
    assert_eq!(
        words("smollm", text),
        ["I", "'ll", " ", " pay", " ", "1", "2", "0", "\u{a0}", "€", " \n\n", " now"]
    );
    assert_eq!(
        words("llama3", text),
        ["I", "'ll", " ", " pay", " ", "120", "\u{a0}", "€", " \n\n", " now"]
    );
    assert_eq!(words("llama3", "IT'S 12345!\r\n  "), ["IT", "'S", " ", "123", "45", "!\r\n", "  "]);
    assert!(PreTokenizer::named("other").is_none());
}
