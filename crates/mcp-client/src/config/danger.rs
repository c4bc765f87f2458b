//! Local servers that look like an attack, and what a person's approval is bound to.
//!
//! A shell is a normal way to start a server; a shell that fetches from the network, or that
//! writes where programs are started at login, is how such entries are abused. What is looked at
//! is what would run: command, arguments and variables with their references resolved.

mod words;

use std::fmt;

use sha2::{Digest, Sha256};

use super::StdioEndpoint;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspicion {
    /// The shell, by its plain name.
    pub shell: String,
    pub act: Act,
    /// The word that gives it away.
    pub sign: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Network,
    /// It writes where programs are started at login or where access is granted.
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

/// Why this process must not be started or saved, if it looks like an attack.
pub fn suspicion(endpoint: &StdioEndpoint) -> Option<Suspicion> {
    let line: Vec<&str> = std::iter::once(endpoint.command.value())
        .chain(endpoint.args.iter().map(super::Text::value))
        .collect();
    let shell = words::shell_of(&line)?;
    // Variables count too: a script can be hidden in one and run by its name.
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

/// What an approval is bound to: a SHA-256, in hex, of the command and the arguments as written
/// and of the names of the variables. Values of variables and of references do not count, so a
/// new token asks for no new approval.
pub fn fingerprint(endpoint: &StdioEndpoint) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        // The length first: no two lists of words give the same bytes.
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
