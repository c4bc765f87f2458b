//! Detection of local servers that resemble an attack, and the fingerprint for approvals.
//!
//! A shell is a normal way to start a server; a shell that fetches from the network, or that
//! writes to autostart places, is a common attack. The check covers the command, arguments and
//! variables with their references resolved.

mod words;

use std::fmt;

use sha2::{Digest, Sha256};

use super::StdioEndpoint;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspicion {
    /// The name of the shell.
    pub shell: String,
    pub act: Act,
    /// The suspicious word.
    pub sign: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Network,
    /// Writes to a place that starts programs at login or grants access.
    Persistence,
}

impl fmt::Display for Suspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shell, act, sign } = self;
        match act {
            Act::Network => write!(f, "it runs the shell `{shell}` with network access (`{sign}`)"),
            Act::Persistence => write!(
                f,
                "it runs the shell `{shell}` on a location that starts programs or grants access \
                 (`{sign}`)"
            ),
        }
    }
}

/// The reason not to start or save this process, if it resembles an attack.
pub fn suspicion(endpoint: &StdioEndpoint) -> Option<Suspicion> {
    let line: Vec<&str> = std::iter::once(endpoint.command.value())
        .chain(endpoint.args.iter().map(super::Text::value))
        .collect();
    let shell = words::shell_of(&line)?;
    // Variables are checked too: one can hold a script that the command runs by name.
    let texts = line.iter().copied().chain(endpoint.env.iter().map(|(_, text)| text.value()));
    let script = texts.collect::<Vec<_>>().join("\n").to_lowercase();
    // Quotes and backslashes within a word do not change what a shell runs.
    let plain = script.replace(['"', '\'', '\\', '^', '`'], "");
    let decoded = words::decoded_command(&line).unwrap_or_default().to_lowercase();
    let texts = [&script, &plain, &decoded];
    let persistence = texts.iter().find_map(|text| words::persistence_sign(text));
    let network = || texts.iter().find_map(|text| words::network_sign(text));
    let found = persistence.map(|sign| (Act::Persistence, sign));
    let (act, sign) = found.or_else(|| Some((Act::Network, network()?)))?;
    Some(Suspicion { shell, act, sign: sign.to_owned() })
}

/// SHA-256, in hex, of the command and arguments as written and of the variable names. An
/// approval is bound to it. Values of variables and references are excluded, so a new token
/// needs no new approval.
pub fn fingerprint(endpoint: &StdioEndpoint) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        // The length prefix makes the encoding of word lists unambiguous.
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    };
    add(endpoint.command.written());
    add(&endpoint.args.len().to_string());
    for arg in &endpoint.args {
        add(arg.written());
    }
    let mut names: Vec<_> = endpoint.env.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    add(&names.len().to_string());
    for name in names {
        add(name);
    }
    crate::tool_name::hex(&hash.finalize())
}

#[cfg(test)]
mod tests;
