//! Valid and hostile PDF files.

use lopdf::content::{Content, Operation};
use lopdf::{Document, Object, Stream, StringFormat, dictionary};

use std::time::Duration;

use super::budget::{MAX_OBJECTS, MAX_STREAM_BYTES};
use super::*;

fn read(bytes: &[u8]) -> Result<Pdf, Rejection> {
    text(bytes, Instant::now() + Duration::from_mins(1))
}

/// A PDF with one page for each content, written in Helvetica.
fn pdf(pages: &[Vec<Operation>]) -> Vec<u8> {
    let mut document = Document::with_version("1.5");
    let tree = document.new_object_id();
    let font = document.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica",
        "Encoding" => "WinAnsiEncoding",
    });
    let resources = document.add_object(dictionary! { "Font" => dictionary! { "F1" => font } });
    let kids: Vec<Object> = pages
        .iter()
        .map(|operations| {
            let content = Content { operations: operations.clone() }.encode().unwrap();
            let content = document.add_object(Stream::new(dictionary! {}, content));
            let page = dictionary! {
                "Type" => "Page", "Parent" => tree, "Contents" => content,
                "Resources" => resources,
            };
            document.add_object(page).into()
        })
        .collect();
    let count = i64::try_from(kids.len()).unwrap();
    let node = dictionary! { "Type" => "Pages", "Kids" => kids, "Count" => count };
    document.objects.insert(tree, node.into());
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => tree });
    let info = document.add_object(dictionary! {
        "Title" => Object::string_literal("A  title"),
        "Author" => Object::string_literal("Ada"),
    });
    document.trailer.set("Root", catalog);
    document.trailer.set("Info", info);
    document.compress();
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

fn op(name: &str, operands: Vec<Object>) -> Operation {
    Operation::new(name, operands)
}

fn literal(bytes: &[u8]) -> Object {
    Object::String(bytes.to_vec(), StringFormat::Literal)
}

/// Two lines, the second with a gap.
fn lines(first: &[u8], left: &[u8], right: &[u8]) -> Vec<Operation> {
    vec![
        op("BT", vec![]),
        op("Tf", vec!["F1".into(), 12.into()]),
        op("Td", vec![100.into(), 600.into()]),
        op("Tj", vec![literal(first)]),
        op("Td", vec![0.into(), (-14).into()]),
        op("TJ", vec![vec![literal(left), (-300).into(), literal(right), 20.into()].into()]),
        op("ET", vec![]),
    ]
}

#[test]
fn text_and_metadata_are_extracted() {
    let bytes = pdf(&[lines(b"Gr\xfc\xdfe", b"two", b"words"), lines(b"Next", b"p", b"age")]);
    let read = read(&bytes).unwrap();
    assert_eq!(read.text, "Grüße\ntwo words\n\nNext\np age");
    assert_eq!((read.title.as_deref(), read.author.as_deref()), (Some("A title"), Some("Ada")));
    assert!(!read.is_truncated);
}

#[test]
fn invalid_and_empty_pdfs_are_rejected() {
    for bytes in [&b""[..], b"%PDF-1.7", b"hello", b"%PDF-1.4\n1 0 obj <<>> endobj\ntrailer <<>>"] {
        assert_eq!(read(bytes), Err(Rejection::DamagedPdf), "{bytes:?}");
    }
    assert_eq!(read(&pdf(&[Vec::new()])), Err(Rejection::PdfWithoutText));
    assert_eq!(read(&pdf(&[])), Err(Rejection::PdfWithoutText));
}

#[test]
fn recursive_forms_terminate() {
    let bytes = pdf(&[lines(b"Text", b"a", b"b")]);
    let mut document = Document::load_mem(&bytes).unwrap();
    let form = document.new_object_id();
    let resources = dictionary! { "XObject" => dictionary! { "X" => form } };
    let content = b"/X Do /X Do /X Do".to_vec();
    let stream = Stream::new(
        dictionary! { "Type" => "XObject", "Subtype" => "Form", "Resources" => resources.clone() },
        content,
    );
    document.objects.insert(form, stream.into());
    let page = *document.get_pages().values().next().unwrap();
    document.add_xobject(page, b"X", form).unwrap();
    document
        .add_to_page_content(page, Content { operations: vec![op("Do", vec!["X".into()])] })
        .unwrap();
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    assert!(read(&bytes).unwrap().text.starts_with("Text"));
}

#[test]
fn pages_beyond_the_stream_limit_are_skipped() {
    let bomb = vec![b' '; MAX_STREAM_BYTES + 1];
    let mut document = Document::load_mem(&pdf(&[lines(b"Kept", b"a", b"b"), Vec::new()])).unwrap();
    let page = *document.get_pages().get(&2).unwrap();
    document.change_page_content(page, bomb).unwrap();
    document.compress();
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    assert!(bytes.len() < 100_000, "{}", bytes.len());
    assert_eq!(read(&bytes).unwrap().text, "Kept\na b");
}

#[test]
fn random_changes_are_harmless() {
    let good = pdf(&[lines(b"Text", b"two", b"words"), lines(b"More", b"a", b"b")]);
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..600 {
        let mut bytes = good.clone();
        for _ in 0..=round % 12 {
            let place = random.usize(..bytes.len());
            match random.u8(..4) {
                0 => bytes[place] = random.u8(..),
                1 => bytes.truncate(place.max(1)),
                2 => bytes.insert(place, random.u8(..)),
                _ => {
                    let end = (place + random.usize(..40)).min(bytes.len());
                    bytes.drain(place..end);
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
        // The worker catches panics.
        let _ = std::panic::catch_unwind(|| read(&bytes));
    }
}

#[test]
fn object_streams_beyond_the_budget_are_rejected() {
    use agent_test_support::pdf::{with_line, with_zeros};
    assert_eq!(read(&with_line("A (good) line")).unwrap().text, "A (good) line");
    assert_eq!(read(&with_zeros("Some zeros", 3, 1000)).unwrap().text, "Some zeros");
    for (streams, bytes_each) in [(1, 4 << 20), (30, 4 << 20), (3, 30 << 20)] {
        let bomb = with_zeros("A bomb", streams, bytes_each);
        assert!(bomb.len() < 130_000, "{}", bomb.len());
        assert_eq!(read(&bomb), Err(Rejection::TooLarge), "{streams} of {bytes_each}");
    }
    // Each is within the limit, but their sum is not.
    let each = MAX_OBJECTS / 4;
    assert!(read(&with_zeros("Three", 3, each * 2)).is_ok());
    assert_eq!(read(&with_zeros("Five", 5, each * 2)), Err(Rejection::TooLarge));
}

#[test]
fn pages_with_too_many_operands_are_skipped() {
    let mut document = Document::load_mem(&pdf(&[lines(b"Kept", b"a", b"b"), Vec::new()])).unwrap();
    let page = *document.get_pages().get(&2).unwrap();
    document.change_page_content(page, b"0 ".repeat(MAX_OBJECTS + 1)).unwrap();
    document.compress();
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    assert_eq!(read(&bytes).unwrap().text, "Kept\na b");
}
