//! Tests of `name`.

use super::*;
use crate::file_name::MAX_NAME_BYTES;

#[test]
fn names_cannot_leave_the_model_folder() {
    let longest = "a".repeat(MAX_NAME_BYTES);
    for good in ["a", "7", "Qwen2.5-0.5B_Q8", "x-", longest.as_str()] {
        assert_eq!(Name::parse(good).unwrap().as_str(), good);
    }
    let too_long = "a".repeat(MAX_NAME_BYTES + 1);
    for bad in
        ["", "-a", ".a", "..", ".", "a b", "a/b", "../a", "ä", "a\n", "a.gguf", "a.GGUF", &too_long]
    {
        assert_eq!(Name::parse(bad), None, "{bad:?}");
    }
}

#[test]
fn model_name_is_the_file_stem() {
    let of = |path: &str| Name::of_any_file(Path::new(path)).map(|name| name.to_string());
    assert_eq!(of("/x/small.Q4_1.gguf").as_deref(), Some("small.Q4_1"));
    assert_eq!(of("small").as_deref(), Some("small"));
    assert_eq!(of("/x/two words.gguf"), None);
    assert_eq!(of("/"), None);
}
