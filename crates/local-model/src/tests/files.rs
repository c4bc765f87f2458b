//! Files that cannot be used: refused with a reason, without a crash and without much memory.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{settings, weights};
use crate::About;
use crate::gguf::{Header, Value};
use crate::quantisation::Form;

/// The beginning of the real file: all of its header and some of its tensors.
fn beginning() -> Vec<u8> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(weights()).unwrap();
    file.take(4 * 1024 * 1024).read_to_end(&mut bytes).unwrap();
    bytes
}

fn written(folder: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, bytes).unwrap();
    path
}

fn refused(path: &Path) -> String {
    About::read(path).unwrap_err().to_string()
}

#[test]
fn a_valid_file_has_a_description() {
    let about = About::read(&settings().path).unwrap();
    assert_eq!(about.licence.as_deref(), Some("apache-2.0"));
    assert_eq!(about.quantisation, "Q4_1");
    assert_eq!((about.parameters, about.context), (134_515_008, 8192));
    assert_eq!(about.file_bytes, 98_362_432);
}

#[test]
fn a_file_truncated_anywhere_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let whole = beginning();
    for length in [0, 3, 4, 7, 20, 100, 1000, 100_000, 1_500_000, whole.len()] {
        let reason = refused(&written(&folder, &whole[..length]));
        assert!(reason.contains("model.gguf: "), "{length}: {reason}");
    }
    let reason = refused(&written(&folder, &whole));
    assert!(reason.contains("truncated"), "{reason}");
}

#[test]
fn other_files_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    assert!(refused(&written(&folder, b"#!/bin/sh\n")).contains("not a GGUF file"));
    assert!(refused(folder.path()).contains("not a regular file"));
    assert!(refused(&folder.path().join("absent.gguf")).contains("absent.gguf"));
}

#[test]
fn corrupted_bytes_never_crash() {
    let folder = tempfile::tempdir().unwrap();
    let whole = beginning();
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..150 {
        let mut bytes = whole.clone();
        // The keys of the header stand at its beginning, the tensors' names at its end.
        let places = if round % 2 == 0 { 0..3000 } else { 1_600_000..1_800_000 };
        for _ in 0..3 {
            let place = random.usize(places.clone()).min(bytes.len() - 1);
            bytes[place] = random.u8(..);
        }
        // What is wrong may be a mere word; it must only not break anything. The file is cut anyway.
        assert!(About::read(&written(&folder, &bytes)).is_err());
    }
}

/// A small file of the right kind, after `change` has had its way with the header.
fn small(folder: &TempDir, change: impl FnOnce(&mut Vec<(&'static str, Value)>)) -> PathBuf {
    let mut header = vec![
        ("general.architecture", Value::Text("llama".to_owned())),
        ("llama.block_count", Value::Integer(1)),
        ("llama.context_length", Value::Integer(256)),
        ("llama.embedding_length", Value::Integer(64)),
        ("llama.feed_forward_length", Value::Integer(64)),
        ("llama.attention.head_count", Value::Integer(2)),
        ("tokenizer.ggml.model", Value::Text("gpt2".to_owned())),
        ("tokenizer.ggml.pre", Value::Text("smollm".to_owned())),
        ("tokenizer.ggml.tokens", Value::Texts(vec!["a".to_owned(); 8])),
        ("tokenizer.ggml.merges", Value::Texts(Vec::new())),
        ("tokenizer.chat_template", Value::Text("{{ messages[0].content }}".to_owned())),
    ];
    change(&mut header);
    let tensors = [
        ("token_embd.weight", &[64_u64, 8][..], "F16"),
        ("output_norm.weight", &[64], "F32"),
        ("blk.0.attn_norm.weight", &[64], "F32"),
        ("blk.0.attn_q.weight", &[64, 64], "Q8_0"),
        ("blk.0.attn_k.weight", &[64, 64], "Q8_0"),
        ("blk.0.attn_v.weight", &[64, 64], "Q8_0"),
        ("blk.0.attn_output.weight", &[64, 64], "Q5_1"),
        ("blk.0.ffn_norm.weight", &[64], "F32"),
        ("blk.0.ffn_gate.weight", &[64, 64], "Q8_0"),
        ("blk.0.ffn_up.weight", &[64, 64], "Q4_0"),
        ("blk.0.ffn_down.weight", &[64, 64], "Q8_0"),
    ];
    let path = folder.path().join("small.gguf");
    std::fs::write(&path, file_bytes(&header, &tensors)).unwrap();
    path
}

fn file_bytes(header: &[(&str, Value)], tensors: &[(&str, &[u64], &str)]) -> Vec<u8> {
    fn count(count: usize) -> [u8; 8] {
        (count as u64).to_le_bytes()
    }
    fn text(text: &str) -> Vec<u8> {
        [&count(text.len())[..], text.as_bytes()].concat()
    }
    let mut bytes = b"GGUF\x02\0\0\0".to_vec();
    bytes.extend(count(tensors.len()));
    bytes.extend(count(header.len()));
    for (key, value) in header {
        let (kind, value): (u32, Vec<u8>) = match value {
            Value::Integer(number) => match u32::try_from(*number) {
                Ok(number) => (4, number.to_le_bytes().to_vec()),
                Err(_) => (10, u64::try_from(*number).unwrap().to_le_bytes().to_vec()),
            },
            Value::Float(number) => (6, number.to_le_bytes().to_vec()),
            Value::Text(word) => (8, text(word)),
            Value::Texts(words) => {
                let all: Vec<u8> = words.iter().flat_map(|word| text(word)).collect();
                (9, [&8_u32.to_le_bytes()[..], &count(words.len()), &all].concat())
            }
            other => panic!("{other:?} is not written"),
        };
        bytes.extend(text(key));
        bytes.extend(kind.to_le_bytes());
        bytes.extend(value);
    }
    let mut data = 0_usize;
    for (name, dimensions, form) in tensors {
        bytes.extend(text(name));
        bytes.extend(u32::try_from(dimensions.len()).unwrap().to_le_bytes());
        bytes.extend(dimensions.iter().flat_map(|size| size.to_le_bytes()));
        let (number, form) = numbered_form(form);
        bytes.extend(number.to_le_bytes());
        bytes.extend(count(data));
        let numbers = usize::try_from(dimensions.iter().product::<u64>()).unwrap();
        data += (numbers / form.block_numbers * form.block_bytes).next_multiple_of(32);
    }
    bytes.resize(bytes.len().next_multiple_of(32) + data, 0);
    bytes
}

fn numbered_form(name: &str) -> (u32, Form) {
    let mut forms = (0..64).filter_map(|number| Some((number, Form::from_number(number)?)));
    forms.find(|(_, form)| form.name == name).unwrap()
}

fn put(header: &mut Vec<(&'static str, Value)>, key: &'static str, value: Value) {
    header.retain(|(known, _)| *known != key);
    header.push((key, value));
}

#[test]
fn small_files_of_several_formats_are_usable() {
    let folder = tempfile::tempdir().unwrap();
    let about = About::read(&small(&folder, |_| ())).unwrap();
    assert_eq!(about.parameters, 8 * 64 + 7 * 64 * 64 + 3 * 64);
    assert_eq!(about.quantisation, "Q8_0");
}

#[test]
fn unsupported_headers_are_rejected_with_the_reason() {
    let word = |word: &str| Value::Text(word.to_owned());
    let cases: &[(&'static str, Value, &str)] = &[
        ("general.architecture", word("bert"), "architecture `bert`"),
        ("general.architecture", word("a\u{1b}[31m"), "architecture `a[31m`"),
        ("llama.block_count", Value::Integer(0), "0 for `llama.block_count`"),
        ("llama.block_count", Value::Integer(u64::MAX.into()), "`llama.block_count`"),
        ("llama.block_count", Value::Integer(2), "`blk.1.attn_norm.weight` is missing"),
        ("llama.embedding_length", Value::Integer(1 << 20), "from the header"),
        ("llama.embedding_length", Value::Integer(96), "from the header"),
        ("llama.feed_forward_length", Value::Integer(33), "inconsistent"),
        ("llama.attention.head_count", Value::Integer(3), "inconsistent"),
        ("llama.attention.head_count_kv", Value::Integer(0), "inconsistent"),
        ("llama.attention.head_count_kv", word("two"), "invalid number"),
        ("llama.expert_count", Value::Integer(8), "mixture-of-experts"),
        ("llama.rope.scaling.type", word("yarn"), "`yarn`"),
        ("llama.rope.freq_base", Value::Float(f32::NAN), "inconsistent"),
        ("tokenizer.ggml.model", word("llama"), "tokenizer type `llama`"),
        ("tokenizer.ggml.pre", word("tekken"), "`tekken`"),
        ("tokenizer.ggml.tokens", Value::Texts(Vec::new()), "has no tokens"),
        ("tokenizer.ggml.tokens", Value::Texts(vec!["a".to_owned(); 9]), "from the header"),
        ("tokenizer.chat_template", word("{% if %}"), "invalid chat template"),
        ("tokenizer.chat_template", Value::Integer(1), "has no chat template"),
        ("general.alignment", Value::Integer(0), "invalid tensor alignment"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (key, value, reason) in cases {
        let path = small(&folder, |header| put(header, key, value.clone()));
        let got = refused(&path);
        assert!(got.contains(reason), "{key} {value:?}: {got}");
    }
}

#[test]
fn excessive_counts_are_rejected_before_allocation() {
    let folder = tempfile::tempdir().unwrap();
    let good = std::fs::read(small(&folder, |_| ())).unwrap();
    // The number of tensors and of keys, each eight bytes after the version.
    for place in [8, 16] {
        let mut bytes = good.clone();
        bytes[place..place + 8].copy_from_slice(&(1_u64 << 40).to_le_bytes());
        let reason = refused(&written(&folder, &bytes));
        assert!(reason.contains("invalid header"), "{reason}");
    }
    // The size of a tensor: the two numbers after its name and their count.
    let name = b"blk.0.attn_q.weight";
    let place = memchr::memmem::find(&good, name).unwrap() + name.len() + 4;
    let mut bytes = good.clone();
    bytes[place..place + 8].copy_from_slice(&(1_u64 << 62).to_le_bytes());
    let reason = refused(&written(&folder, &bytes));
    assert!(reason.contains("from the header"), "{reason}");
    // Where it is said to be.
    let mut bytes = good.clone();
    bytes[place + 20..place + 28].copy_from_slice(&u64::MAX.to_le_bytes());
    let reason = refused(&written(&folder, &bytes));
    assert!(reason.contains("truncated"), "{reason}");
    assert!(Header::parse(&good).is_ok());
}
