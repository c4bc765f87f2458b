//! Tests of `quote`.

use super::*;

#[test]
fn literal_quotation_is_found() {
    let page = "Die  „Größe“ of\nthe sky[4] is — so far\u{a0}— BLUE.";
    let folded = Folded::new(page);
    for quote in [
        "die \"größe\" of the sky", "the sky is - so far - blue", "the sky[12] is",
        "  the SKY\nis ",
    ] {
        assert!(folded.contains(quote), "{quote}");
    }
    for quote in ["", "  ", "the sky was", "die große", "sky is so far"] {
        assert!(!folded.contains(quote), "{quote}");
    }
    let found = folded.find(&Folded::new("THE SKY IS")).unwrap();
    assert_eq!(plain(&page[found]), "the sky is");
    let end = folded.find(&Folded::new("blue.")).unwrap();
    assert_eq!(&page[end], "BLUE.");
}

#[test]
fn reference_marks_are_removed() {
    assert_eq!(plain("a [1] b[23]\n c [x] [12345] [ 4]"), "a b c [x] [12345] [ 4]");
}
