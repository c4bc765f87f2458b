//! Tests of `plan`.

use super::*;

const QUERY: &str = "Why is the sky blue?";

#[test]
fn a_plan_is_parsed_in_every_format() {
    let expected = [QUERY, "rayleigh scattering", "sky colour physics"];
    for said in [
        "1. rayleigh scattering\n2. sky colour physics",
        "- \"rayleigh scattering\"\n- \"sky colour physics\"",
        "[\"rayleigh scattering\", \"sky colour physics\"]",
        "```json\n{\"queries\": [\"rayleigh scattering\", \"sky colour physics\"]}\n```",
        "<think>1. nonsense</think>Here they are:\n* rayleigh scattering\n* sky colour physics",
        "rayleigh scattering\nsky colour physics\n",
    ] {
        assert_eq!(queries(said, QUERY, 3, true), expected, "{said}");
    }
}

#[test]
fn useless_plan_falls_back_to_the_question() {
    let long = "I would be very happy to help you with this and will begin by saying that it \
                    is a most interesting question that many people have asked before you";
    for said in ["", "```\n```", "[1, 2", "{}", "...", long] {
        assert_eq!(queries(said, QUERY, 3, true), [QUERY, "sky blue"], "{said}");
    }
    assert_eq!(queries("", "???", 3, true), ["???"]);
    assert_eq!(queries("", QUERY, 3, false), ["sky blue", "sky blue overview"]);
}

#[test]
fn planned_queries_are_limited() {
    let said: Vec<String> = (0..100).map(|number| format!("- search {number}")).collect();
    let said = said.join("\n");
    assert_eq!(queries(&said, QUERY, 4, true).len(), 4);
    let long = "sky ".repeat(500);
    assert!(queries("", &long, 4, true)[0].chars().count() <= MAX_QUERY_CHARS);
}
