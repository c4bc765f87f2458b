//! Tests of `opener`.

use super::*;

fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn found(pairs: &[(&str, &str)], system: &str) -> Vec<String> {
    let found = commands(&environment(pairs), system);
    found.iter().map(|words| words.join(" ")).collect()
}

#[test]
fn each_platform_has_its_browser_command() {
    let nothing: &[(&str, &str)] = &[];
    assert_eq!(found(nothing, "macos"), ["open"]);
    let windows = found(nothing, "windows");
    assert_eq!(windows, ["rundll32 url.dll,FileProtocolHandler"]);
    assert_eq!(found(&[("DISPLAY", ":0")], "linux"), ["xdg-open"]);
    assert_eq!(found(&[("WAYLAND_DISPLAY", "wayland-0")], "linux"), ["xdg-open"]);
    let wsl = [("WSL_DISTRO_NAME", "Debian")];
    assert_eq!(found(&wsl, "linux"), ["wslview", "xdg-open"]);
}

#[test]
fn no_browser_is_found_without_a_display_or_over_ssh() {
    assert!(found(&[], "linux").is_empty());
    assert!(found(&[("DISPLAY", "")], "linux").is_empty());
    for name in REMOTE {
        for system in ["linux", "macos", "windows"] {
            assert!(found(&[("DISPLAY", ":0"), (name, "x")], system).is_empty(), "{name}");
        }
    }
}

#[test]
fn browser_variable_takes_precedence_and_can_be_none() {
    let of = |browser| found(&[("DISPLAY", ":0"), ("BROWSER", browser)], "linux");
    assert_eq!(of("a -x:b %s"), ["a -x", "b %s", "xdg-open"]);
    assert_eq!(of(""), ["xdg-open"]);
    assert_eq!(of(" None "), Vec::<String>::new());
    assert_eq!(of(&"x:".repeat(50)).len(), MAX_TRIED + 1);
}

#[test]
fn browser_variable_is_used_without_a_display_and_over_ssh() {
    let own = ("BROWSER", "code --open-url");
    assert_eq!(found(&[own], "linux"), ["code --open-url"]);
    let over = [own, ("DISPLAY", ":0"), ("SSH_TTY", "/dev/pts/1")];
    assert_eq!(found(&over, "linux"), ["code --open-url"]);
    assert!(found(&[("BROWSER", "none"), ("SSH_TTY", "x")], "macos").is_empty());
}

#[test]
fn url_is_passed_as_a_single_argument() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let address = "https://a.example/?x=1&y=$(z);w";
    assert_eq!(with_address(&words("b -n"), address), ["b", "-n", address]);
    let filled = with_address(&words("b --url=%s -n"), address);
    assert_eq!(filled, ["b".to_owned(), format!("--url={address}"), "-n".to_owned()]);
}

#[test]
fn only_http_urls_are_opened() {
    for page in ["https://a.example/x", "HTTP://127.0.0.1:1/", "http://a"] {
        assert!(is_page(page), "{page}");
    }
    let other =
        ["file:///etc/passwd", "-x", "", "https", "javascript:x", "https://a b", "https://\x1b"];
    for other in other {
        assert!(!is_page(other), "{other:?}");
    }
}

#[test]
fn a_missing_browser_falls_back_to_the_next_command() {
    let words = |text: &str| vec![text.to_owned()];
    let opener =
        |names: &[&str]| Opener { commands: names.iter().map(|name| words(name)).collect() };
    let page = "https://a.example/";
    let failed = opener(&["/no/such/program"]).open(page);
    assert!(matches!(&failed, Attempt::Failed(why) if why.starts_with("`/no/such/program`: ")));
    assert_eq!(opener(&["/no/such/program", "true"]).open(page), Attempt::Started);
    assert_eq!(opener(&["true"]).open("file:///etc/passwd"), Attempt::Nothing);
    assert_eq!(Opener::default().open(page), Attempt::Nothing);
}
