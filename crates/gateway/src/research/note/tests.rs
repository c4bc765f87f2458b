//! Tests of `note`.

use super::*;

const PAGE: &str = "About the sky\n\nShort waves are scattered more than long ones.[3] So \
                        the sky looks blue by day. At dusk it looks red, \
                        and nobody minds. Subscribe to our newsletter about cheese today!";
const QUERY: &str = "Why is the sky blue?";

fn quotes(said: &str) -> Vec<String> {
    notes(said, QUERY, PAGE).into_iter().map(|note| note.quote).collect()
}

#[test]
fn quotations_are_parsed_in_every_format() {
    let expected =
        ["Short waves are scattered more than long ones.", "So the sky looks blue by day."];
    for said in [
        "\"Short waves are scattered more than long ones.\"\n\"So the sky looks blue by day.\"",
        "1. Short waves are scattered more than long ones.\n2. So the sky looks BLUE by day.",
        "[\"Short waves are scattered more than long ones.\", \
             {\"quote\": \"so the sky looks blue by day.\"}]",
        "- “Short waves are scattered  more than long ones.[3]” — physics\n\
             - “So the sky looks blue by day.” (why)\n- “The sky is made of cheese and light.”",
    ] {
        assert_eq!(quotes(said), expected, "{said}");
    }
}

#[test]
fn invented_quotations_are_replaced() {
    let expected = ["About the sky", "So the sky looks blue by day."];
    for said in [
        "",
        "NONE",
        "{\"quote\": ",
        "\"The sky is blue because of the oceans, as everyone knows.\"",
        "Great question! The sky is blue because of scattering.",
    ] {
        let found = quotes(said);
        assert!(found.contains(&expected[1].to_owned()), "{said}: {found:?}");
        assert!(found.iter().all(|quote| Folded::new(PAGE).contains(quote)), "{found:?}");
    }
    assert_eq!(notes("", "cheddar", PAGE), []);
}

#[test]
fn irrelevant_pages_are_not_quoted() {
    let said = "\"Subscribe to our newsletter about cheese today!\"";
    assert_eq!(notes(said, "How deep is the Pacific Ocean?", PAGE), []);
    // Sources of a German question may be English.
    assert_eq!(notes(said, "Welche Farbe hat der Himmel?", PAGE).len(), 1);
}

#[test]
fn repeated_text_is_quoted_once() {
    let said = "\"So the sky looks blue by day.\"\n".repeat(5);
    assert_eq!(quotes(&said).len(), 1);
    let page = "a sentence of the sky that is long enough. ".repeat(50);
    assert!(notes(&page, QUERY, &page).len() <= MAX_NOTES);
}
