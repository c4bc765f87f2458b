//! Tests of `research`.

use wire::research::ResearchRequest;

use super::*;

#[test]
fn an_invalid_request_names_the_field() {
    let wrong = |text: &str| {
        let error = body::parse::<ResearchRequest>(text.as_bytes(), wrong).unwrap_err();
        let param = error.detail(None).param.unwrap_or_default();
        (error.code().as_str(), param, error.message().to_owned())
    };
    let of = |param: &str, message: &str| ("invalid_request", param.to_owned(), message.to_owned());
    let depth = "`depth` must be `quick`, `standard` or `deep`";
    assert_eq!(wrong(r#"{"query":"a","depth":"slow"}"#), of("depth", depth));
    let dept = "unknown field `dept`; did you mean `depth`?";
    assert_eq!(wrong(r#"{"query":"a","dept":"deep"}"#), of("dept", dept));
    let query = "`query` must be a string of 1 to 4000 characters";
    assert_eq!(wrong("{}"), of("query", query));
    assert_eq!(wrong(r#"{"query":"a","metadata":[]}"#).1, "metadata");
    assert_eq!(wrong(r#"{"query":"a","max_sources":-1}"#).1, "max_sources");
    assert_eq!(wrong("[]").0, "invalid_request");
    assert_eq!(wrong("{").0, "invalid_json");
    assert_eq!(wrong("").0, "invalid_json");
}
