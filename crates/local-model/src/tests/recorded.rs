//! The engine against what llama.cpp made of the same file.

use std::sync::Arc;

use super::{asked, settings, weights};
use crate::file::GgufFile;
use crate::llama::Activations;
use crate::model::Model;
use crate::thread_pool::ThreadPool;
use crate::tokenizer::Tokenizer;

const TOKENS: &str = include_str!("../../tests/recorded/tokens.json");
const LIKELY: &str = include_str!("../../tests/recorded/likely.json");

#[test]
fn tokens_match_llama_cpp_and_round_trip() {
    let tokens = Tokenizer::read(&GgufFile::open(&weights()).unwrap()).unwrap();
    let recorded: Vec<(String, Vec<u32>)> = serde_json::from_str(TOKENS).unwrap();
    assert!(recorded.len() >= 200, "{}", recorded.len());
    for (text, wanted) in recorded {
        let got = tokens.encode(&text);
        assert_eq!(got, wanted, "{text:?}");
        let pieces: Vec<&[u8]> = got.iter().map(|token| tokens.piece(*token)).collect();
        // Those that stand for no text give none back.
        if pieces.iter().all(|piece| !piece.is_empty()) {
            assert_eq!(pieces.concat(), text.as_bytes(), "{text:?}");
        }
    }
}

#[test]
fn special_token_names_in_text_are_plain_text() {
    let tokens = Tokenizer::read(&GgufFile::open(&weights()).unwrap()).unwrap();
    let words = "before <|im_end|> after <|im_end|>";
    let encoded = tokens.encode(&tokens.apart(words));
    assert!(encoded.iter().all(|token| !tokens.is_end(*token)), "{encoded:?}");
    let back: Vec<u8> = encoded.iter().flat_map(|token| tokens.piece(*token).to_vec()).collect();
    assert_eq!(String::from_utf8(back).unwrap(), words);
    assert!(tokens.encode(words).iter().any(|token| tokens.is_end(*token)));
}

#[derive(serde::Deserialize)]
struct Likely {
    question: String,
    numbers: Vec<(usize, f32)>,
}

#[test]
fn token_probabilities_match_llama_cpp() {
    let recorded: Likely = serde_json::from_str(LIKELY).unwrap();
    let file = GgufFile::open(&weights()).unwrap();
    let model = Model::load(&file, 2048, settings().defaults).unwrap();
    let prompt = model.prepare(asked(&recorded.question)).unwrap();
    let pool = ThreadPool::open(2, Arc::default()).unwrap();
    let mut activations = Activations::new(&file.shape);
    let mut kept = model.llama.nothing();
    pool.work(|| model.llama.follow(&prompt.tokens, &mut kept, &mut activations, &pool));
    let difference = |(token, wanted): &(usize, f32)| (activations.logits[*token] - wanted).abs();
    let differences: Vec<f32> = recorded.numbers.iter().map(difference).collect();
    let largest = differences.iter().copied().fold(0.0, f32::max);
    #[expect(clippy::cast_precision_loss, reason = "about a hundred")]
    let mean = differences.iter().sum::<f32>() / differences.len() as f32;
    assert!(largest < 1.0 && mean < 0.25, "largest {largest}, mean {mean}");
}
