//! Tests of `attachments`.

use super::*;

#[test]
fn pasted_paths_are_found_however_a_terminal_writes_them() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("my shot.PNG");
    fs::write(&image, b"x").unwrap();
    fs::write(folder.path().join("notes.txt"), b"x").unwrap();
    let path = image.display().to_string();
    for text in [
        format!("what is '{path}'?"),
        format!("\"{path}\""),
        format!("look: {}", path.replace(' ', "\\ ")),
        "it's in ~/my\\ shot.PNG".to_owned(),
    ] {
        assert_eq!(pasted(&text, Some(folder.path())), std::slice::from_ref(&image), "{text}");
    }
    let missing = folder.path().join("other.png").display().to_string();
    let document = folder.path().join("notes.txt").display().to_string();
    for text in ["shot.png", &missing, &document, "/", "a \\"] {
        assert!(pasted(text, Some(folder.path())).is_empty(), "{text}");
    }
}

#[test]
fn only_files_of_known_types_and_sizes_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let image = read(&file("a.png", b"\x89PNG\r\n\x1a\n")).unwrap();
    assert_eq!((image.mime.as_str(), image.name.as_deref()), ("image/png", Some("a.png")));
    assert!(read(&file("b.png", b"no image")).is_err());
    assert!(read(&file("c.pdf", &[b"%PDF".to_vec(), vec![0; MAX_FILE_BYTES]].concat())).is_err());
    assert!(read(folder.path()).is_err());
    assert!(read(&folder.path().join("missing.png")).is_err());
}
