//! Redirects of all kinds, right and wrong.

use form_urlencoded::Serializer;
use proptest::prelude::*;

use super::*;

const ISSUER: &str = "https://login.example.com/tenant";

fn expected(issuer_required: bool) -> ExpectedRedirect {
    ExpectedRedirect { state: "right-state".to_owned(), issuer: ISSUER.to_owned(), issuer_required }
}

fn query(parameters: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(parameters).finish()
}

/// Judges parameters after the right state.
fn judged(issuer_required: bool, parameters: &[(&str, &str)]) -> Result<String, RedirectError> {
    let query = format!("state=right-state&{}", query(parameters));
    check_redirect(&query, &expected(issuer_required)).map(|code| code.value().to_owned())
}

#[test]
fn every_row_of_the_issuer_table_is_implemented() {
    let other = "https://login.example.org/tenant";
    for (required, issuer, outcome) in [
        (true, Some(ISSUER), Ok("c".to_owned())),
        (true, Some(other), Err(RedirectError::WrongIssuer)),
        (true, None, Err(RedirectError::MissingIssuer)),
        (false, Some(ISSUER), Ok("c".to_owned())),
        (false, Some(other), Err(RedirectError::WrongIssuer)),
        (false, None, Ok("c".to_owned())),
    ] {
        let mut parameters = vec![("code", "c")];
        parameters.extend(issuer.map(|issuer| ("iss", issuer)));
        assert_eq!(judged(required, &parameters), outcome, "{required} {issuer:?}");
    }
}

#[test]
fn issuers_are_compared_exactly() {
    for other in [
        "https://login.example.com/tenant/",
        "https://login.example.com:443/tenant",
        "https://LOGIN.example.com/tenant",
        "HTTPS://login.example.com/tenant",
        "https://login.example.com/%74enant",
        "https://login.example.com/tenant?",
        "https://login.example.com/./tenant",
        "http://login.example.com/tenant",
        " https://login.example.com/tenant",
        "https://login.example.com/tenan",
        "",
    ] {
        for required in [true, false] {
            let found = judged(required, &[("code", "c"), ("iss", other)]);
            assert_eq!(found, Err(RedirectError::WrongIssuer), "{other}");
        }
    }
    // What is encoded for the way is decoded once, and only once.
    let way = "state=right-state&code=c&iss=https%3A%2F%2Flogin.example.com%2Ftenant";
    assert!(check_redirect(way, &expected(true)).is_ok());
    let twice = "state=right-state&code=c&iss=https%253A%252F%252Flogin.example.com%252Ftenant";
    assert_eq!(check_redirect(twice, &expected(true)).unwrap_err(), RedirectError::WrongIssuer);
}

#[test]
fn error_text_of_another_issuer_is_discarded() {
    let words = [("error", "access_denied"), ("error_description", "call 555-0100")];
    for (issuer, fault) in [
        (Some("https://evil.test"), RedirectError::WrongIssuer),
        (None, RedirectError::MissingIssuer),
    ] {
        let mut parameters = words.to_vec();
        parameters.extend(issuer.map(|issuer| ("iss", issuer)));
        let found = judged(true, &parameters).unwrap_err();
        assert_eq!(found, fault);
        assert!(!format!("{found} {found:?}").contains("555"), "{found:?}");
    }
}

#[test]
fn a_redirect_with_another_state_is_rejected() {
    for state in ["", "right-stat", "right-state ", "Right-state", "right-statf", "right-state2"] {
        for more in ["code=c", "error=access_denied", "iss=x", "", "code=c&code=d"] {
            let query = format!("{}&{more}", query(&[("state", state)]));
            assert_eq!(
                check_redirect(&query, &expected(false)).unwrap_err(),
                RedirectError::WrongState,
                "{query}"
            );
        }
    }
    for query in [
        "",
        "code=c",
        "code=c&State=right-state",
        "code=c&state=right-state&state=right-state",
        "code=c&state=wrong&state=right-state",
    ] {
        assert_eq!(
            check_redirect(query, &expected(false)).unwrap_err(),
            RedirectError::WrongState,
            "{query}"
        );
    }
    let nothing_expected = ExpectedRedirect { state: String::new(), ..expected(false) };
    assert_eq!(
        check_redirect("state=&code=c", &nothing_expected).unwrap_err(),
        RedirectError::WrongState
    );
}

#[test]
fn only_a_wrong_state_does_not_end_the_login() {
    assert!(!RedirectError::WrongState.ends_login());
    let refused = RedirectError::Refused { error: "x".to_owned(), description: None };
    let repeated = RedirectError::Repeated { name: "code" };
    for fault in [
        RedirectError::MissingIssuer,
        RedirectError::WrongIssuer,
        refused,
        RedirectError::NoCode,
        repeated,
    ] {
        assert!(fault.ends_login(), "{fault:?}");
    }
}

#[test]
fn repeated_parameters_are_errors_and_empty_ones_missing() {
    let twice = |name| Err(RedirectError::Repeated { name });
    assert_eq!(judged(false, &[("code", "c"), ("code", "c")]), twice("code"));
    assert_eq!(judged(false, &[("iss", ISSUER), ("iss", ISSUER), ("code", "c")]), twice("iss"));
    assert_eq!(judged(false, &[("error", "a"), ("error", "b")]), twice("error"));
    let described = [("error", "a"), ("error_description", "b"), ("error_description", "c")];
    assert_eq!(judged(false, &described), twice("error_description"));
    assert_eq!(judged(false, &[]), Err(RedirectError::NoCode));
    assert_eq!(judged(false, &[("code", "")]), Err(RedirectError::NoCode));
    assert_eq!(judged(false, &[("error", ""), ("code", "c")]), Ok("c".to_owned()));
    let refused = RedirectError::Refused { error: "e".to_owned(), description: None };
    assert_eq!(judged(false, &[("error", "e"), ("error_description", "")]), Err(refused.clone()));
    // An error beside a code is an error.
    assert_eq!(judged(false, &[("code", "c"), ("error", "e")]), Err(refused));
}

#[test]
fn redirect_query_length_limit_is_exact() {
    let start = "state=right-state&code=";
    let longest = format!("{start}{}", "x".repeat(MAX_QUERY_BYTES - start.len()));
    assert!(check_redirect(&longest, &expected(false)).is_ok());
    let longer = format!("{longest}x");
    assert_eq!(check_redirect(&longer, &expected(false)).unwrap_err(), RedirectError::WrongState);
}

#[test]
fn error_descriptions_are_bounded_plain_text() {
    let markup = "<script>alert(1)</script> & \"more\"";
    let found = judged(false, &[("error", "access_denied"), ("error_description", markup)]);
    let refused = RedirectError::Refused {
        error: "access_denied".to_owned(),
        description: Some(markup.to_owned()),
    };
    assert_eq!(found, Err(refused));
    assert_eq!(
        found.unwrap_err().to_string(),
        format!("the authorization server rejected the request: access_denied: {markup}")
    );

    let hidden = "a\u{1b}[31mb\r\n\0c\u{202e}d\u{200b}\u{e0041}e";
    let found = judged(false, &[("error", hidden), ("error_description", hidden)]).unwrap_err();
    let RedirectError::Refused { error, description } = found else { panic!("{found:?}") };
    assert_eq!((error.as_str(), description.as_deref()), ("a[31mbcde", Some("a[31mbcde")));

    let long = "ä".repeat(MAX_DESCRIPTION_CHARS + 1);
    let found = judged(false, &[("error", &long), ("error_description", &long)]).unwrap_err();
    let RedirectError::Refused { error, description } = found else { panic!("{found:?}") };
    assert_eq!(error.chars().count(), MAX_ERROR_CHARS + 1);
    assert_eq!(description.unwrap().chars().count(), MAX_DESCRIPTION_CHARS + 1);
}

#[test]
fn authorization_codes_are_never_shown() {
    let code = check_redirect("state=right-state&code=very-secret", &expected(false)).unwrap();
    assert_eq!(code.value(), "very-secret");
    assert!(!format!("{code:?}").contains("secret"));
}

#[test]
fn pasted_redirects_are_parsed() {
    let query = "code=a%2Bb&state=s&iss=https%3A%2F%2Fx";
    for pasted in [
        query.to_owned(),
        format!("?{query}"),
        format!("http://127.0.0.1:27890/callback?{query}"),
        format!("127.0.0.1:27890/callback?{query}"),
        format!("  \"http://localhost:27890/callback?{query}\"\n"),
        format!("'?{query}' "),
        format!("<http://localhost/callback?{query}>"),
        format!("“http://localhost/callback?{query}”"),
        format!("http://localhost:27890/callback?{query}#_=_"),
        format!("http://localhost:27890/call\r\nback?{}\n{}", &query[..9], &query[9..]),
    ] {
        assert_eq!(query_of_pasted(&pasted).as_deref(), Some(query), "{pasted}");
    }
    let refused = "error=access_denied&error_description=not now&state=s";
    assert_eq!(query_of_pasted(&format!(" ?{refused}")).as_deref(), Some(refused));
    let odd = "code=c&state=a?b";
    assert_eq!(query_of_pasted(odd).as_deref(), Some(odd));
}

#[test]
fn pasted_text_without_a_response_is_rejected() {
    for pasted in [
        "",
        "   ",
        "\"\"",
        "SplxlOBeZQQYbYS6WxSbIA",
        "http://127.0.0.1:27890/callback",
        "http://127.0.0.1:27890/callback?state=s",
        "https://login.example.com/authorize?response_type=code&state=s",
        "decode=1&myerror=2",
    ] {
        assert_eq!(query_of_pasted(pasted), None, "{pasted}");
    }
}

proptest! {
    #[test]
    fn no_redirect_without_the_right_state_ends_a_login(query in ".{0,200}") {
        prop_assume!(!query.contains("right-state") && !query.contains('%'));
        prop_assert_eq!(check_redirect(&query, &expected(false)).unwrap_err(), RedirectError::WrongState);
    }

    #[test]
    fn any_code_survives_a_redirect_and_a_paste(code in "[^\\s].{0,80}", state in "[!-~]{1,40}") {
        let query = query(&[("code", &code), ("state", &state)]);
        let expected = ExpectedRedirect { state, ..expected(false) };
        let judged = check_redirect(&query, &expected).unwrap();
        prop_assert_eq!(judged.value(), &code);
        let pasted = query_of_pasted(&format!("\"http://127.0.0.1:1/callback?{query}\" ")).unwrap();
        let judged = check_redirect(&pasted, &expected).unwrap();
        prop_assert_eq!(judged.value(), &code);
    }
}
