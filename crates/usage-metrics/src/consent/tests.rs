//! Tests of `consent`.

use super::*;

#[test]
fn nothing_is_recorded_without_consent() {
    assert_eq!(decide(&Facts::default()), Decision { mode: Mode::Off, rule: Rule::Default });
    let configured = |mode| Facts { configured: Some(mode), ..Facts::default() };
    assert_eq!(decide(&configured(Mode::Local)).mode, Mode::Local);
    assert_eq!(decide(&configured(Mode::Off)).rule, Rule::Configured);
}

#[test]
fn do_not_track_precedes_and_never_enables() {
    let facts = |value| Facts {
        do_not_track: Some(value),
        ci: Some("true"),
        configured: Some(Mode::Local),
    };
    for yes in ["1", "t", "true", "TRUE", "y", "yes", "on", " On "] {
        assert_eq!(decide(&facts(yes)).rule, Rule::DoNotTrack, "{yes}");
    }
    for other in ["0", "false", "", "no", "off", "maybe"] {
        assert_eq!(decide(&facts(other)).rule, Rule::Ci, "{other}");
        let alone = Facts { do_not_track: Some(other), ..Facts::default() };
        assert_eq!(decide(&alone), Decision { mode: Mode::Off, rule: Rule::Default });
    }
}

#[test]
fn ci_environment_is_not_consent() {
    let facts =
        |value| Facts { ci: Some(value), configured: Some(Mode::Local), ..Facts::default() };
    for set in ["true", "1", "woodpecker"] {
        assert_eq!(decide(&facts(set)), Decision { mode: Mode::Off, rule: Rule::Ci }, "{set}");
    }
    for unset in ["", "0", "false", "No"] {
        assert_eq!(decide(&facts(unset)).mode, Mode::Local, "{unset}");
    }
}
