//! Tests of `attachments`.

use document_parser::WorkerProgram;
use task_loop::attachment::MAX_FILE_BYTES;

use super::*;

#[test]
fn pasted_paths_are_detected_in_every_quoting_style() {
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

/// Images are decoded by the program, which tests of tasks run.
#[tokio::test]
async fn only_files_of_known_types_and_sizes_are_read() {
    let parser =
        WorkerProgram { path: "/missing".into(), arguments: Vec::new(), environment: Vec::new() };
    let attacher = Attacher::new(parser, 1568);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let document = read(&file("a.pdf", b"%PDF-1.7"), &attacher).await.unwrap();
    assert_eq!(
        (document.mime.as_str(), document.name.as_deref()),
        ("application/pdf", Some("a.pdf"))
    );
    let large = [b"%PDF".to_vec(), vec![0; MAX_FILE_BYTES]].concat();
    for path in [
        file("b.png", b"no image"),
        file("c.pdf", &large),
        file("d.png", b"\x89PNG\r\n\x1a\n"),
        folder.path().to_owned(),
        folder.path().join("missing.png"),
    ] {
        assert!(read(&path, &attacher).await.is_err(), "{}", path.display());
    }
}
