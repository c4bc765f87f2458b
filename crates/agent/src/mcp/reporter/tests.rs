//! Tests of `reporter`.

use super::*;
use crate::output::{Color, Style, Volume};
use mcp_client::redact::Redactor;

#[test]
fn pending_messages_are_limited_to_the_newest() {
    let output = Output::new(Style::Human, Volume::Normal, Color::Auto);
    let reporter =
        Reporter::new(output, Sanitizer::new(Arc::new(Redactor::default())), MessageSink::Kept);
    for number in 0..MAX_WARNINGS + 5 {
        let (server, text) = ("a".to_owned(), format!("number {number}"));
        reporter.event(ClientEvent::Warning { server, text });
    }
    let kept = reporter.messages();
    assert_eq!(kept.len(), MAX_KEPT);
    assert!(kept[MAX_KEPT - 1].ends_with(&format!("a: number {}", MAX_WARNINGS + 4)));
    assert_eq!(reporter.warnings().len(), MAX_WARNINGS);
}
