//! The pages, as a browser shows them.

use std::path::PathBuf;

use agent_test_support::browser::{Browser, ColorScheme};
use mcp_client::oauth::callback::LoginOutcome;
use serde_json::json;
use tokio::task::block_in_place;

use super::{STATE, expected, listener};

/// Every report of a broken content security policy so far.
const VIOLATIONS: &str = "
    const observer = new ReportingObserver(() => {}, { types: ['csp-violation'], buffered: true });
    observer.observe();
    const found = observer.takeRecords().map(report => report.body.effectiveDirective);
    observer.disconnect();
    return found";

/// Takes a browser through the end of a login.
async fn show(browser: &Browser, ending: LoginOutcome) {
    let listener = listener().await;
    let address = format!("http://127.0.0.1:{}/callback?code=c&state={STATE}", listener.port());
    let login = tokio::spawn(async move {
        listener.redirect(&expected()).await.answer(ending).await;
    });
    block_in_place(|| browser.goto(&address));
    login.await.unwrap();
}

fn failed() -> LoginOutcome {
    LoginOutcome::Failed {
        server: "docs".to_owned(),
        what: "the authorization server rejected the request: access_denied: <b \
               onclick=alert(1)>no</b> <script>document.title = 'owned'</script>"
            .to_owned(),
    }
}

fn signed_in() -> LoginOutcome {
    LoginOutcome::SignedIn { server: "docs".to_owned() }
}

/// Keeps a picture where somebody asked for it.
fn keep(browser: &Browser, name: &str) {
    if let Some(folder) = std::env::var_os("AGENT_TEST_PICTURES").map(PathBuf::from) {
        browser.screenshot(&folder.join(format!("{name}.png")));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_readable_in_light_and_dark_and_narrow_windows() {
    let mut grounds = Vec::new();
    for (scheme, width, height) in [
        (ColorScheme::Light, 1000, 640),
        (ColorScheme::Dark, 1000, 640),
        (ColorScheme::Light, 320, 600),
        (ColorScheme::Dark, 320, 600),
    ] {
        let browser = block_in_place(|| Browser::start(width, height, scheme));
        for (what, ending, heading) in [
            ("good", signed_in(), "Signed in to docs"),
            ("bad", failed(), "Sign-in to docs failed"),
        ] {
            show(&browser, ending).await;
            block_in_place(|| {
                assert_eq!(browser.text("h1"), heading);
                assert_eq!(browser.eval("return document.title"), heading);
                assert!(browser.text("main").ends_with("go back to the terminal."));
                let fits = "return document.documentElement.scrollWidth <= innerWidth";
                assert_eq!(browser.eval(fits), true, "{what} {width}");
                assert_eq!(browser.eval(VIOLATIONS), json!([]), "{what}");
                let loaded = "return performance.getEntriesByType('resource').map(e => e.name)";
                assert_eq!(browser.eval(loaded), json!([]), "{what}");
                keep(&browser, &format!("{what}-{scheme:?}-{width}"));
            });
        }
        let fixture = "return getComputedStyle(document.body).backgroundColor";
        grounds.push(block_in_place(|| browser.eval(fixture)));
    }
    assert_eq!(grounds[0], "rgb(246, 247, 248)");
    assert_eq!(grounds[1], "rgb(20, 23, 27)");
    assert_eq!(grounds[..2], grounds[2..]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn markup_in_error_text_is_escaped() {
    let browser = block_in_place(|| Browser::start(800, 600, ColorScheme::Light));
    show(&browser, failed()).await;
    block_in_place(|| {
        let said = browser.text(".said");
        assert!(said.contains("<b onclick=alert(1)>no</b> <script>"), "{said}");
        assert_eq!(browser.eval("return document.querySelectorAll('b, script').length"), 0);
        assert_eq!(browser.eval("return document.title"), "Sign-in to docs failed");
        // The policy holds, and the test would see if it did not: what is added breaks it.
        browser.eval(
            "document.body.insertAdjacentHTML('beforeend', '<style>a{}</style><img src=/x>')",
        );
        browser.eventually(
            "two violations",
            &format!(
                "const all = await (async () => {{ {VIOLATIONS} }})(); return all.length === 2"
            ),
        );
    });
}
