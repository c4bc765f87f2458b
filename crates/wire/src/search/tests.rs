//! Tests of `search`.

use super::*;

#[test]
fn domains_are_labels_separated_by_dots() {
    for good in ["example.com", "a.b-c.D", "localhost", "xn--mller-kva.de", "1.2"] {
        assert!(is_domain(good), "{good}");
    }
    let long = "a.".repeat(130);
    for bad in ["", ".", "a.", ".a", "-a.b", "a-.b", "a b", "a/b", "müller.de", "*.a", &long] {
        assert!(!is_domain(bad), "{bad}");
    }
}
