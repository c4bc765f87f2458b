//! Decides whether anything may be recorded, and by which rule.
//!
//! Recording is off until a person turns it on. `DO_NOT_TRACK` and a continuous-integration
//! environment turn it off whatever the configuration says; only the configuration turns it on.
//! Nothing leaves the machine in any mode.

use std::fmt;

crate::text_enum::text_enum! {
    #[derive(Default)]
    pub enum Mode {
        #[default]
        Off = "off",
        Local = "local",
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Facts<'a> {
    pub do_not_track: Option<&'a str>,
    pub ci: Option<&'a str>,
    pub configured: Option<Mode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    DoNotTrack,
    Ci,
    Configured,
    Default,
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Rule::DoNotTrack => "the environment variable DO_NOT_TRACK is set",
            Rule::Ci => "the environment variable CI indicates an unattended run",
            Rule::Configured => "set in the configuration",
            Rule::Default => "this is the default",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub mode: Mode,
    pub rule: Rule,
}

/// Decides about recording. `DO_NOT_TRACK=0` does not opt in.
pub fn decide(facts: &Facts<'_>) -> Decision {
    if facts.do_not_track.is_some_and(says_yes) {
        Decision { mode: Mode::Off, rule: Rule::DoNotTrack }
    } else if facts.ci.is_some_and(|value| !says_no(value)) {
        Decision { mode: Mode::Off, rule: Rule::Ci }
    } else if let Some(mode) = facts.configured {
        Decision { mode, rule: Rule::Configured }
    } else {
        Decision { mode: Mode::Off, rule: Rule::Default }
    }
}

fn says_yes(value: &str) -> bool {
    ["1", "t", "true", "y", "yes", "on"].contains(&&*value.trim().to_ascii_lowercase())
}

fn says_no(value: &str) -> bool {
    ["", "0", "f", "false", "n", "no", "off"].contains(&&*value.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
