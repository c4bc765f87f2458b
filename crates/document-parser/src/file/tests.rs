//! Tests of `file`.

use super::*;

fn parsed(format: FileFormat, bytes: &[u8]) -> FileText {
    read(format, bytes).unwrap()
}

#[test]
fn several_encodings_are_decoded() {
    for bytes in [
        "Größe".as_bytes(),
        b"\xef\xbb\xbfGr\xc3\xb6\xc3\x9fe",
        b"Gr\xf6\xdfe",
        b"\xff\xfeG\0r\0\xf6\0\xdf\0e\0",
        b"\xfe\xff\0G\0r\0\xf6\0\xdf\0e",
    ] {
        assert_eq!(parsed(FileFormat::Text, bytes).text, "Größe", "{bytes:?}");
    }
    assert!(read(FileFormat::Text, b"\x7fELF\0\0\0").is_err());
    assert!(read(FileFormat::Text, b" \n ").is_err());
}

#[test]
fn titles_are_extracted() {
    let markdown = parsed(FileFormat::Markdown, b"intro\n\n# The title #\n## other\ntext");
    assert_eq!(markdown.title.as_deref(), Some("The title"));
    let html = parsed(
        FileFormat::Html,
        b"<html><head><title>A &amp; B</title><style>x{}</style></head><body><nav>menu</nav>\
              <h1>Head</h1><p>One</p><p>two<script>alert(1)</script></p>",
    );
    assert_eq!(html.title.as_deref(), Some("A & B"));
    assert!(html.text.contains("One") && html.text.contains("two"), "{html:?}");
    assert!(!["alert", "menu", "x{}"].iter().any(|word| html.text.contains(word)), "{html:?}");
    assert_eq!(parsed(FileFormat::Html, b"<h1>Only</h1> this").title.as_deref(), Some("Only"));
}

#[test]
fn long_texts_are_truncated() {
    let long = "é".repeat(MAX_TEXT_BYTES);
    assert_eq!(parsed(FileFormat::Text, long.as_bytes()).text.len(), MAX_TEXT_BYTES);
    assert!(read(FileFormat::Html, &vec![b'x'; MAX_HTML_BYTES + 1]).is_err());
}

#[test]
fn deeply_nested_html_is_harmless() {
    for tag in ["<div>", "<b>", "<table><tr><td>", "<a><p>"] {
        let deep = tag.repeat(20_000) + "deep words";
        let _ = read(FileFormat::Html, deep.as_bytes());
    }
}
