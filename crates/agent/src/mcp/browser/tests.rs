//! What a person is shown, without a terminal.

use mcp_client::redact::Redactor;
use task_loop::Sanitizer;

use super::*;
use crate::mcp::reporter::MessageSink;
use crate::output::{Color, Style, Volume};

fn prompt(can_paste: bool) -> SignInPrompt {
    let output = Output::new(Style::Human, Volume::Normal, Color::Auto);
    let shown = Sanitizer::new(Arc::new(Redactor::default()));
    SignInPrompt {
        output: output.clone(),
        reporter: Reporter::new(output, shown, MessageSink::Kept),
        opener: Opener::default(),
        here: SshHost {
            user: "ada".to_owned(),
            host: "host".to_owned(),
            port: None,
            remote: false,
        },
        can_paste,
        turn: Arc::default(),
    }
}

fn page() -> SignInPage {
    SignInPage {
        server: "docs".to_owned(),
        address: format!("https://auth.example/authorize?state={}", "x".repeat(3000)),
        issuer: "https://auth.example".to_owned(),
        redirect_uri: "http://127.0.0.1:27890/callback".to_owned(),
        port: 27890,
        scope: Some("read write".to_owned()),
        offers_device_code: false,
        problem: None,
    }
}

fn steps_text(page: &SignInPage, is_opened: bool, can_paste: bool) -> String {
    steps(page, &shown_address(&page.address), is_opened, &prompt(can_paste))
}

#[test]
fn sign_in_url_is_printed_unbroken_on_its_own_line() {
    for (is_opened, can_paste) in [(true, true), (true, false), (false, true), (false, false)] {
        let text = steps_text(&page(), is_opened, can_paste);
        assert!(text.lines().any(|line| line == page().address), "{text}");
        for word in ["docs", "https://auth.example\n", "read write", "Ctrl-C"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert_eq!(text.contains("paste"), can_paste, "{text}");
        assert_eq!(text.contains("ssh -N -L"), !is_opened, "{text}");
    }
}

#[test]
fn suggested_tunnel_uses_the_listening_port() {
    let text = steps_text(&page(), false, true);
    assert!(text.contains("ssh -N -L 27890:127.0.0.1:27890 ada@host\n"), "{text}");
    // A browser that comes back through a proxy needs none.
    let redirect_uri = "https://proxy.example/callback".to_owned();
    let text = steps_text(&SignInPage { redirect_uri, ..page() }, false, true);
    assert!(!text.contains("ssh"), "{text}");
}

#[test]
fn device_code_is_suggested_only_without_a_browser_if_offered() {
    let suggestion = "agent mcp login docs --device\n";
    let offering = SignInPage { offers_device_code: true, ..page() };
    assert!(steps_text(&offering, false, true).contains(suggestion));
    assert!(!steps_text(&offering, true, true).contains(suggestion));
    assert!(!steps_text(&page(), false, true).contains(suggestion));
}

#[test]
fn control_characters_in_urls_are_percent_encoded() {
    let shown = shown_address("https://a.example/\x1b[2J\n\u{202e}é x");
    assert_eq!(shown, "https://a.example/%1B[2J%0A%E2%80%AE%C3%A9%20x");
}

#[test]
fn tunnel_names_the_host_of_the_ssh_connection() {
    let of = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        SshHost::find(&pairs.collect()).tunnel(5000)
    };
    let over = ("SSH_CONNECTION", "10.0.0.2 50123 10.0.0.1 22");
    assert_eq!(of(&[over, ("USER", "ada")]), "ssh -N -L 5000:127.0.0.1:5000 ada@10.0.0.1");
    let over = ("SSH_CONNECTION", "fe80::2 50123 fe80::1 2222");
    let tunnel = of(&[over, ("LOGNAME", "ada")]);
    assert_eq!(tunnel, "ssh -N -L 5000:127.0.0.1:5000 -p 2222 ada@fe80::1");
    // What could do something else when it is pasted into a shell is not repeated.
    let odd = of(&[("USER", "$(x)"), ("SSH_CONNECTION", "a b ;c; -oX")]);
    assert!(odd.starts_with("ssh -N -L 5000:127.0.0.1:5000 <user>@"), "{odd}");
    assert!(!odd.contains(';') && !odd.contains("-oX"), "{odd}");
}

#[test]
fn only_loopback_redirects_need_a_tunnel() {
    for here in ["http://127.0.0.1:1/callback", "http://localhost/x", "http://[::1]:9/"] {
        assert!(is_loopback(here), "{here}");
    }
    for there in ["https://127.0.0.1:1/", "http://127.0.0.1.example/", "http://localhosts:1/"] {
        assert!(!is_loopback(there), "{there}");
    }
}
