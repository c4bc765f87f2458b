//! Tests of `openapi`.

use wire::usage::{DEFAULT_USAGE_LINES, MAX_USAGE_LINES};

use super::*;

fn operations() -> Vec<(String, Value)> {
    let source = source();
    let paths = source["paths"].as_object().unwrap().iter();
    let all = paths.flat_map(|(path, operations)| {
        let operations = operations.as_object().unwrap().iter();
        operations.map(move |(verb, described)| (format!("{verb} {path}"), described.clone()))
    });
    all.collect()
}

#[test]
fn errors_and_tags_are_known() {
    let tags = ["members", "admin", "service"];
    for (name, operation) in operations() {
        assert!(tags.iter().any(|tag| operation["tags"] == json!([tag])), "{name}");
        for error in operation["x-errors"].as_array().into_iter().flatten() {
            assert!(Code::ALL.iter().any(|code| error == code.as_str()), "{name}: {error}");
        }
    }
}

#[test]
fn every_schema_that_is_referred_to_exists() {
    let found = schemas(&source()["paths"]);
    for (name, operation) in operations() {
        for reference in operation.to_string().split(SCHEMAS).skip(1) {
            let wanted = reference.split('"').next().unwrap();
            assert!(found.contains_key(wanted), "{name}: {wanted}");
        }
    }
}

#[test]
fn bounds_of_parameters_are_those_of_the_handlers() {
    let schema = |wanted: &str, parameter: &str| {
        let (_, operation) = operations().into_iter().find(|(name, _)| name == wanted).unwrap();
        let parameters = operation["parameters"].as_array().unwrap().clone();
        let found = parameters.into_iter().find(|it| it["name"] == parameter).unwrap();
        found["schema"].clone()
    };
    let lines = schema("get /v1/me/usage", "limit");
    assert_eq!(lines["default"], DEFAULT_USAGE_LINES);
    assert_eq!(lines["maximum"], MAX_USAGE_LINES - 1);
}
