//! The browser of this machine: whether there is one, and which programs open it.

use std::collections::BTreeMap;
use std::io;
use std::process::{Command, Stdio};

/// The variables of a session on somebody else's machine.
const REMOTE: &[&str] = &["SSH_CLIENT", "SSH_TTY", "SSH_CONNECTION"];
/// The variables of a screen on Linux and its kin.
const SCREENS: &[&str] = &["DISPLAY", "WAYLAND_DISPLAY"];
/// The variables of Linux inside Windows.
const WSL: &[&str] = &["WSL_DISTRO_NAME", "WSL_INTEROP"];
/// The most programs of `BROWSER` that are tried.
const MAX_TRIED: usize = 8;

/// What decides how browsers are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Platform {
    Mac,
    Windows,
    Other,
}

/// The programs that open a page, best first; none where nobody would see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Opener {
    commands: Vec<Vec<String>>,
}

impl Opener {
    /// What this machine has.
    pub(super) fn find(environment: &BTreeMap<String, String>) -> Self {
        let platform = if cfg!(target_os = "macos") {
            Platform::Mac
        } else if cfg!(windows) {
            Platform::Windows
        } else {
            Platform::Other
        };
        Self { commands: commands(environment, platform) }
    }

    /// No browser.
    pub(super) fn none() -> Self {
        Self::default()
    }

    /// Starts the first program that can be started, and does not wait for it.
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

/// What came of opening a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attempt {
    /// A program was started.
    Started,
    /// None could be: which, and why.
    Failed(String),
    /// There is none.
    Nothing,
}

/// Whether this is a session on somebody else's machine.
pub(super) fn is_remote(environment: &BTreeMap<String, String>) -> bool {
    REMOTE.iter().any(|name| environment.get(*name).is_some_and(|value| !value.is_empty()))
}

/// Only pages are opened: other schemes start other programs.
pub(super) fn is_page(address: &str) -> bool {
    let lower = address.get(..8).unwrap_or_default().to_ascii_lowercase();
    (lower.starts_with("https://") || lower.starts_with("http://"))
        && address.chars().all(|letter| letter.is_ascii_graphic())
}

fn commands(environment: &BTreeMap<String, String>, platform: Platform) -> Vec<Vec<String>> {
    let is_set = |name: &&str| environment.get(*name).is_some_and(|value| !value.is_empty());
    let is_wsl = platform == Platform::Other && WSL.iter().any(&is_set);
    let has_screen = platform != Platform::Other || is_wsl || SCREENS.iter().any(&is_set);
    let own = environment.get("BROWSER").map(|value| value.trim()).unwrap_or_default();
    if own.eq_ignore_ascii_case("none") {
        return Vec::new();
    }
    let separator = if platform == Platform::Windows { ';' } else { ':' };
    let words = |command: &str| command.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut all: Vec<Vec<String>> = own.split(separator).map(words).collect();
    all.retain(|command| !command.is_empty());
    all.truncate(MAX_TRIED);
    // What was named is used wherever it was named: it may open a page on another machine.
    if !has_screen || is_remote(environment) {
        return all;
    }
    match platform {
        Platform::Mac => all.push(words("open")),
        Platform::Windows => all.push(words("rundll32 url.dll,FileProtocolHandler")),
        Platform::Other => {
            all.extend(is_wsl.then(|| words("wslview")));
            all.push(words("xdg-open"));
        }
    }
    all
}

/// The words of a command with the address in its place: at `%s`, or at the end.
fn with_address(words: &[String], address: &str) -> Vec<String> {
    let has_place = words.iter().any(|word| word.contains("%s"));
    let filled = words.iter().map(|word| word.replace("%s", address));
    filled.chain((!has_place).then(|| address.to_owned())).collect()
}

/// Starts a program by itself: no shell, nothing of its output, and no Ctrl-C of ours.
fn start(words: &[String], address: &str) -> io::Result<()> {
    let words = with_address(words, address);
    let Some((program, rest)) = words.split_first() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn found(pairs: &[(&str, &str)], platform: Platform) -> Vec<String> {
        let found = commands(&environment(pairs), platform);
        found.iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn each_system_has_its_own_way() {
        let nothing: &[(&str, &str)] = &[];
        assert_eq!(found(nothing, Platform::Mac), ["open"]);
        let windows = found(nothing, Platform::Windows);
        assert_eq!(windows, ["rundll32 url.dll,FileProtocolHandler"]);
        assert_eq!(found(&[("DISPLAY", ":0")], Platform::Other), ["xdg-open"]);
        assert_eq!(found(&[("WAYLAND_DISPLAY", "wayland-0")], Platform::Other), ["xdg-open"]);
        let wsl = [("WSL_DISTRO_NAME", "Debian")];
        assert_eq!(found(&wsl, Platform::Other), ["wslview", "xdg-open"]);
    }

    #[test]
    fn there_is_none_without_a_screen_and_none_over_ssh() {
        assert!(found(&[], Platform::Other).is_empty());
        assert!(found(&[("DISPLAY", "")], Platform::Other).is_empty());
        for name in REMOTE {
            for platform in [Platform::Other, Platform::Mac, Platform::Windows] {
                assert!(found(&[("DISPLAY", ":0"), (name, "x")], platform).is_empty(), "{name}");
            }
        }
    }

    #[test]
    fn a_persons_own_choice_goes_first_and_may_be_none() {
        let of = |browser| found(&[("DISPLAY", ":0"), ("BROWSER", browser)], Platform::Other);
        assert_eq!(of("a -x:b %s"), ["a -x", "b %s", "xdg-open"]);
        assert_eq!(of(""), ["xdg-open"]);
        assert_eq!(of(" None "), Vec::<String>::new());
        assert_eq!(of(&"x:".repeat(50)).len(), MAX_TRIED + 1);
    }

    #[test]
    fn a_browser_that_is_named_is_used_without_a_screen_and_over_ssh() {
        let own = ("BROWSER", "code --open-url");
        assert_eq!(found(&[own], Platform::Other), ["code --open-url"]);
        let over = [own, ("DISPLAY", ":0"), ("SSH_TTY", "/dev/pts/1")];
        assert_eq!(found(&over, Platform::Other), ["code --open-url"]);
        assert!(found(&[("BROWSER", "none"), ("SSH_TTY", "x")], Platform::Mac).is_empty());
    }

    #[test]
    fn the_address_is_one_argument_whatever_is_in_it() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let address = "https://a.example/?x=1&y=$(z);w";
        assert_eq!(with_address(&words("b -n"), address), ["b", "-n", address]);
        let filled = with_address(&words("b --url=%s -n"), address);
        assert_eq!(filled, ["b".to_owned(), format!("--url={address}"), "-n".to_owned()]);
    }

    #[test]
    fn only_pages_are_opened() {
        for page in ["https://a.example/x", "HTTP://127.0.0.1:1/", "http://a"] {
            assert!(is_page(page), "{page}");
        }
        let other = [
            "file:///etc/passwd",
            "-x",
            "",
            "https",
            "javascript:x",
            "https://a b",
            "https://\x1b",
        ];
        for other in other {
            assert!(!is_page(other), "{other:?}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_gives_way_to_the_next() {
        let words = |text: &str| vec![text.to_owned()];
        let opener =
            |names: &[&str]| Opener { commands: names.iter().map(|name| words(name)).collect() };
        let page = "https://a.example/";
        let failed = opener(&["/no/such/program"]).open(page);
        assert!(matches!(&failed, Attempt::Failed(why) if why.starts_with("`/no/such/program`: ")));
        assert_eq!(opener(&["/no/such/program", "true"]).open(page), Attempt::Started);
        assert_eq!(opener(&["true"]).open("file:///etc/passwd"), Attempt::Nothing);
        assert_eq!(Opener::none().open(page), Attempt::Nothing);
    }
}
