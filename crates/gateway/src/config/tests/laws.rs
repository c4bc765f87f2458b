//! What holds for any file at all.

use proptest::prelude::*;
use settings::MAX_PROBLEMS;

use super::*;

/// Values of every kind, some of them references; `KEY` and `LONG` are secrets.
const VALUES: &[&str] = &[
    "5",
    "-1",
    "1.5",
    "true",
    "~",
    "x",
    "[]",
    "{}",
    "[x, {a: 1}]",
    "\":\"",
    "\"${KEY}\"",
    "\":${KEY}\"",
    "\"${KEY}/${LONG}\"",
    "\"https://${KEY}/v1\"",
    "\"http://${KEY}:${LONG}@h\"",
    "\"sqlite:${KEY}\"",
    "\"postgres://u:${KEY}@h\"",
    "[\"${KEY}\", \"${KEY}\", \"${LONG}/x\"]",
    "{\"${KEY}\": \"${LONG}\"}",
    "[{model: \"${KEY}\", weight: \"${LONG}\"}, {model: \"p/${KEY}\"}]",
];

/// Lines of one mapping, of keys of a section of the table.
fn lines(section: &'static str) -> impl Strategy<Value = String> {
    let sections = schema().sections();
    let known = sections.iter().find(|known| known.name == section).unwrap();
    let names = known.keys.iter().map(|key| key.name.clone()).chain(["other".to_owned()]);
    // The ids of models are told to every member, wherever they come from.
    let names: Vec<String> =
        names.filter(|name| section != "providers.*" || name != "models").collect();
    let pair = (prop::sample::select(names), prop::sample::select(VALUES));
    prop::collection::vec(pair, 0..6).prop_map(|pairs| {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        pairs.join(", ")
    })
}

/// A file with something in each of its larger sections.
fn file() -> impl Strategy<Value = String> {
    let inner = (lines("providers.*"), lines("models.*"), lines("limits"), lines("prices"));
    (lines(""), inner).prop_map(|(root, (provider, alias, limits, prices))| {
        format!(
            "{{{root}, providers: {{p: {{kind: openai, {provider}}}}}, models: {{a: {{{alias}}}}}, \
             limits: {{{limits}}}, prices: {{{prices}}}}}"
        )
        .replace("{, ", "{")
    })
}

/// What must hold of whatever was read.
fn judge(text: &str) -> Result<(), TestCaseError> {
    let reading = reading(text);
    let has_error = reading.problems.iter().any(settings::Problem::is_error);
    prop_assert_eq!(reading.config.is_none(), has_error, "{}", text);
    prop_assert!(reading.problems.len() <= MAX_PROBLEMS);
    prop_assert!(reading.problems.is_sorted_by_key(|problem| (problem.line, problem.column)));
    for problem in &reading.problems {
        let words = problem.to_string();
        prop_assert!(problem.line > 0 && problem.column > 0, "{}", words);
        for secret in ["upstream-key-1", LONG] {
            prop_assert!(!words.contains(secret), "{} says {}", text, words);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn messages_contain_no_resolved_variable(text in file()) {
        judge(&text)?;
    }

    #[test]
    fn any_text_is_parsed_without_panic(text in "(?s).{0,200}") {
        judge(&text)?;
    }
}

#[test]
fn problems_beyond_the_limit_are_counted() {
    let lines: Vec<_> = (0..=MAX_PROBLEMS).map(|n| format!("other{n}: 1\n")).collect();
    let problems = reading(&lines.concat()).problems;
    assert_eq!(problems.len(), MAX_PROBLEMS);
    assert_eq!(problems[MAX_PROBLEMS - 1].message, "2 more problems not shown");
}
