//! Tests of `attachment`.

use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

#[test]
fn content_determines_the_type_and_size_is_limited() {
    let image = Attachment::new(PNG, None).unwrap();
    assert_eq!((image.kind, image.mime.as_str()), (MediaKind::Image, "image/png"));
    assert_eq!(image.data_url(), "data:image/png;base64,iVBORw0KGgpyZXN0");
    let page = b"<!doctype html><script>alert(1)</script>";
    assert_eq!(Attachment::new(page, None), Err(AttachmentError::Unsupported));
    let mut large = PNG.to_vec();
    large.resize(MAX_IMAGE_BYTES, 0);
    assert!(Attachment::new(&large, None).is_ok());
    large.push(0);
    let error = Attachment::new(&large, None).unwrap_err();
    assert_eq!(error.to_string(), "3750001 bytes; the limit is 3750000");
    let mut pdf = b"%PDF-1.7".to_vec();
    pdf.resize(MAX_FILE_BYTES, 0);
    assert_eq!(Attachment::new(&pdf, None).unwrap().kind, MediaKind::Document);
    pdf.push(0);
    assert!(Attachment::new(&pdf, None).is_err());
}

#[test]
fn modalities_of_services_are_parsed() {
    let words = |all: &[&str]| all.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    assert_eq!(MediaKind::listed(&words(&["text", "image", "file"])), MediaKind::usual());
    assert!(MediaKind::listed(&words(&["text"])).is_empty());
}

#[test]
fn attachment_data_is_stored_but_not_in_debug_output() {
    let image = Attachment::new(PNG, Some("a.png".to_owned())).unwrap();
    assert_eq!(format!("{image:?}"), "Attachment(image/png, 12 bytes)");
    let text = serde_json::to_string(&image).unwrap();
    assert_eq!(serde_json::from_str::<Attachment>(&text).unwrap(), image);
}
