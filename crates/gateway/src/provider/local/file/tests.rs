//! Tests of `file`.

use super::*;

fn about() -> About {
    About {
        name: Some("SmolLM2 135M\u{1b}[31m Instruct".to_owned()),
        licence: Some("apache-2.0".to_owned()),
        parameters: 134_515_008,
        quantisation: "Q4_1".to_owned(),
        context: 8192,
        file_bytes: 98_362_432,
        loaded_bytes: 150_400_000,
        token_bytes: 23_040,
    }
}

#[test]
fn model_description_comes_from_the_file() {
    assert_eq!(
        description(&about()),
        "SmolLM2 135M[31m Instruct; licence apache-2.0; 135 M parameters, Q4_1; file size 98 MB, \
         150 MB in memory; runs inside this service; no tools"
    );
    let nameless = About { name: None, licence: None, parameters: 1_549_000_000, ..about() };
    let said = description(&nameless);
    assert!(said.starts_with("licence not stated; 1.5 G parameters, Q4_1; "), "{said}");
}

#[test]
fn counts_are_rounded() {
    let counts = [0, 999, 1000, 9_949, 9_950, 999_499, 1_000_000, 9_960_000, 70_000_000_000];
    let said: Vec<String> = counts.into_iter().map(rounded).collect();
    assert_eq!(
        said,
        ["0 ", "999 ", "1.0 k", "9.9 k", "10.0 k", "999 k", "1.0 M", "10.0 M", "70 G"]
    );
}

#[test]
fn model_files_of_a_folder_are_found_in_order() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["b.gguf", "a.GGUF", "c.bin", "with space.gguf", "d*.gguf", ".gguf"] {
        std::fs::write(folder.path().join(name), b"").unwrap();
    }
    let found = in_folder(folder.path()).unwrap();
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let none = in_folder(&folder.path().join("none")).unwrap_err();
    assert!(none.starts_with("cannot read ") && none.contains("/none: No such file"), "{none}");
}
