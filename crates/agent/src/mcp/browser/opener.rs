//! The browser of this machine: its detection, and the programs that open it.
//!
//! `webbrowser` is not used: it takes no environment, so `BROWSER=none`, remote sessions and a
//! missing screen could be neither checked before an address is printed, nor tested.

use std::collections::BTreeMap;
use std::io;
use std::process::{Command, Stdio};

const REMOTE: &[&str] = &["SSH_CLIENT", "SSH_TTY", "SSH_CONNECTION"];
const SCREENS: &[&str] = &["DISPLAY", "WAYLAND_DISPLAY"];
const WSL: &[&str] = &["WSL_DISTRO_NAME", "WSL_INTEROP"];
/// Maximum number of programs of `BROWSER` that are tried.
const MAX_TRIED: usize = 8;

/// Programs that open a page, best first; empty without a screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Opener {
    commands: Vec<Vec<String>>,
}

impl Opener {
    pub(super) fn find(environment: &BTreeMap<String, String>) -> Self {
        Self { commands: commands(environment, std::env::consts::OS) }
    }

    /// Starts the first program that starts, without waiting for it.
    pub(super) fn open(&self, address: &str) -> Attempt {
        if self.commands.is_empty() || !is_page(address) {
            return Attempt::Nothing;
        }
        let mut failed = Vec::new();
        for words in &self.commands {
            match start(words, address) {
                Ok(()) => return Attempt::Started,
                Err(error) => failed.push(format!("`{}`: {error}", words.join(" "))),
            }
        }
        Attempt::Failed(failed.join("; "))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attempt {
    Started,
    /// None could be started, for these reasons.
    Failed(String),
    Nothing,
}

pub(super) fn is_remote(environment: &BTreeMap<String, String>) -> bool {
    REMOTE.iter().any(|name| environment.get(*name).is_some_and(|value| !value.is_empty()))
}

/// Only web pages are opened: other schemes start other programs.
pub(super) fn is_page(address: &str) -> bool {
    let lower = address.get(..8).unwrap_or_default().to_ascii_lowercase();
    (lower.starts_with("https://") || lower.starts_with("http://"))
        && address.chars().all(|letter| letter.is_ascii_graphic())
}

fn commands(environment: &BTreeMap<String, String>, system: &str) -> Vec<Vec<String>> {
    let is_set = |name: &&str| environment.get(*name).is_some_and(|value| !value.is_empty());
    let has_desktop = matches!(system, "macos" | "windows");
    let is_wsl = !has_desktop && WSL.iter().any(&is_set);
    let has_screen = has_desktop || is_wsl || SCREENS.iter().any(&is_set);
    let own = environment.get("BROWSER").map(|value| value.trim()).unwrap_or_default();
    if own.eq_ignore_ascii_case("none") {
        return Vec::new();
    }
    let separator = if system == "windows" { ';' } else { ':' };
    let words = |command: &str| command.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut all: Vec<Vec<String>> = own.split(separator).map(words).collect();
    all.retain(|command| !command.is_empty());
    all.truncate(MAX_TRIED);
    // A configured program is used even so: it may open a page on another machine.
    if !has_screen || is_remote(environment) {
        return all;
    }
    match system {
        "macos" => all.push(words("open")),
        "windows" => all.push(words("rundll32 url.dll,FileProtocolHandler")),
        _ => {
            all.extend(is_wsl.then(|| words("wslview")));
            all.push(words("xdg-open"));
        }
    }
    all
}

/// The words of a command with the address inserted at `%s`, or appended.
fn with_address(words: &[String], address: &str) -> Vec<String> {
    let has_place = words.iter().any(|word| word.contains("%s"));
    let filled = words.iter().map(|word| word.replace("%s", address));
    filled.chain((!has_place).then(|| address.to_owned())).collect()
}

/// Starts a program without a shell, without its output, and in a separate process group.
fn start(words: &[String], address: &str) -> io::Result<()> {
    let words = with_address(words, address);
    let Some((program, rest)) = words.split_first() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map(drop)
}

#[cfg(test)]
mod tests;
