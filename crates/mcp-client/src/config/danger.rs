//! Detection of local servers that resemble an attack, and the fingerprint for approvals.
//!
//! A shell is a normal way to start a server; a shell that fetches from the network, or that
//! writes to autostart places, is a common attack. The check covers the command, arguments and
//! variables with their references resolved.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::StdioEndpoint;

#[rustfmt::skip] // a table of words
const SHELLS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ash", "ksh", "mksh", "fish", "csh", "tcsh", "busybox", "cmd",
    "powershell", "pwsh", "wscript", "cscript", "mshta",
];

/// Programs that run another program, named in one of their arguments.
#[rustfmt::skip] // a table of words
const WRAPPERS: &[&str] = &[
    "env", "sudo", "doas", "nohup", "nice", "ionice", "setsid", "stdbuf", "timeout", "time", "exec",
    "xargs", "script", "unbuffer", "command", "start", "wsl", "flatpak-spawn", "caffeinate",
];

/// Programs that access the network; matched as whole words.
#[rustfmt::skip] // a table of words
const NETWORK_PROGRAMS: &[&str] = &[
    "curl", "wget", "nc", "ncat", "netcat", "socat", "telnet", "ftp", "tftp", "sftp", "scp",
    "aria2c", "lynx", "iwr", "irm", "bitsadmin", "certutil", "openssl s_client",
];

/// Signs of network access; matched anywhere.
#[rustfmt::skip] // a table of words
const NETWORK_SIGNS: &[&str] = &[
    "/dev/tcp/", "/dev/udp/", "invoke-webrequest", "invoke-restmethod", "net.webclient",
    "downloadstring", "downloadfile", "net.sockets", "start-bitstransfer", "net.httpclient",
    "zmodload zsh/net/tcp", "msxml2.xmlhttp",
];

/// Places that start programs at login, on a schedule or with the system, or that grant access.
#[rustfmt::skip] // a table of words
const PERSISTENCE_SIGNS: &[&str] = &[
    ".ssh/", "authorized_keys", "/etc/ssh", "/etc/pam", "pam.d", "sudoers", "crontab", "/etc/cron",
    "/var/spool/cron", "systemctl enable", "/systemd/", ".bashrc", ".bash_profile", ".bash_login",
    ".bash_logout", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".kshrc", ".cshrc", ".tcshrc",
    "config.fish", "fish/conf.d", "/etc/profile", "/etc/bash", "/etc/zsh", "/etc/environment",
    "/etc/rc", "/etc/init", "/etc/passwd", "/etc/shadow", "/etc/ld.so.preload", "ld_preload=",
    ".config/autostart", "/etc/xdg/autostart", "launchagents", "launchdaemons", "launchctl load",
    "launchctl bootstrap", ".xinitrc", ".xprofile", ".pam_environment", "currentversion/run",
    "currentversionrun", "currentversion\\run", "start menu/programs/startup",
    "start menu\\programs\\startup", "start menuprogramsstartup", "schtasks",
    "register-scheduledtask", ".git/hooks",
];

/// Short ones of these; matched only where no word character follows.
const PERSISTENCE_WORDS: &[&str] = &[".profile", "$profile", "sc create", "new-service"];

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
    let shell = shell_of(&line)?;
    // Variables are checked too: one can hold a script that the command runs by name.
    let texts = line.iter().copied().chain(endpoint.env.iter().map(|(_, text)| text.value()));
    let script = texts.collect::<Vec<_>>().join("\n").to_lowercase();
    // Quotes and backslashes within a word do not change what a shell runs.
    let plain = script.replace(['"', '\'', '\\', '^', '`'], "");
    let decoded = decoded_command(&line).unwrap_or_default().to_lowercase();
    let texts = [&script, &plain, &decoded];
    let persistence = texts.iter().find_map(|text| persistence_sign(text));
    let network = || texts.iter().find_map(|text| network_sign(text));
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

/// The shell that a command line runs, also through wrappers.
fn shell_of(line: &[&str]) -> Option<String> {
    let first = program(line.first()?);
    if SHELLS.contains(&first.as_str()) {
        return Some(first);
    }
    if !WRAPPERS.contains(&first.as_str()) {
        return None;
    }
    // A wrapper takes options, numbers and variables first; any shell behind it counts, also one
    // inside a single argument as in `env -S "bash -c ..."`.
    line.iter()
        .skip(1)
        .flat_map(|word| word.split_whitespace())
        .map(program)
        .find(|word| SHELLS.contains(&word.as_str()))
}

/// The name of a program in lower case, without folders, quotes and `.exe`.
fn program(word: &str) -> String {
    let word = word.trim().trim_matches(['"', '\'']).to_ascii_lowercase();
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = [".exe", ".cmd", ".bat", ".com"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name);
    name.to_owned()
}

/// The first sign of network access in a lower-case text.
fn network_sign(text: &str) -> Option<&'static str> {
    let program = NETWORK_PROGRAMS.iter().find(|program| holds_word(text, program));
    program.or_else(|| NETWORK_SIGNS.iter().find(|sign| text.contains(**sign))).copied()
}

/// The first sign of persistence or of granted access, in a lower-case text.
fn persistence_sign(text: &str) -> Option<&'static str> {
    let sign = PERSISTENCE_SIGNS.iter().find(|sign| text.contains(**sign));
    sign.or_else(|| PERSISTENCE_WORDS.iter().find(|word| ends_a_word(text, word))).copied()
}

/// Whether the text contains this with no letter, digit, underscore or hyphen right after it.
fn ends_a_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let after = text[at + word.len()..].chars().next();
        !after.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-')
    })
}

/// Whether a text contains a separate word: `nc` in `| nc host`, not in `sync` or `nc.js`.
fn holds_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after =
            text[at + word.len()..].strip_prefix(".exe").unwrap_or(&text[at + word.len()..]);
        let is_part = |c: char| c.is_alphanumeric() || "_-.@".contains(c);
        !before.is_some_and(is_part)
            && !after.chars().next().is_some_and(|c| is_part(c) || c == '/')
    })
}

fn decoded_command(line: &[&str]) -> Option<String> {
    let flag = line.iter().position(|word| {
        let word = word.to_ascii_lowercase();
        word.starts_with("-e") && "-encodedcommand".starts_with(&word) || word == "-ec"
    })?;
    let bytes = STANDARD.decode(line.get(flag + 1)?).ok()?;
    let units: Vec<u16> =
        bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    Some(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests;
