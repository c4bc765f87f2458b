//! Tests of `library`.

use mcp_client::tool::PromptArgument;

use super::*;

fn prompt(arguments: &[(&str, bool)]) -> Prompt {
    let argument = |(name, required): &(&str, bool)| PromptArgument {
        name: (*name).to_owned(),
        description: None,
        required: *required,
    };
    let arguments = arguments.iter().map(argument).collect();
    Prompt { name: "p".to_owned(), title: None, description: None, arguments }
}

#[test]
fn arguments_are_named_or_positional() {
    let weather = prompt(&[("city", true), ("state", false)]);
    let given = |typed: &str| arguments(&weather, typed).map(|given| given.into_iter().collect());
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    for typed in ["\"New York\" NY", "state=NY 'New York'", "city='x' state=NY"] {
        let given: Vec<(String, String)> = given(typed).unwrap();
        assert_eq!(given[1], pair("state", "NY"), "{typed}");
    }
    let given: Vec<(String, String)> = given("a=b").unwrap();
    assert_eq!(given, [pair("city", "a=b")]);
    for typed in ["", "state=NY", "a b c"] {
        assert!(arguments(&weather, typed).is_err(), "{typed}");
    }
    let many: Vec<(String, bool)> = (0..10_000).map(|n| (format!("a{n}"), true)).collect();
    let many: Vec<(&str, bool)> = many.iter().map(|(name, is)| (name.as_str(), *is)).collect();
    let error = arguments(&prompt(&many), "").unwrap_err();
    assert!(error.hints[0].len() < 2000, "{}", error.hints[0].len());
}
