//! Tests of `reporter`.

use super::*;
use crate::output::{Color, Style, Volume};
use mcp_client::redact::Redactor;

#[test]
fn what_waits_to_be_drawn_is_bounded_and_the_newest_stays() {
    let output = Output::new(Style::Human, Volume::Normal, Color::Auto);
    let reporter =
        Reporter::new(output, Sanitizer::new(Arc::new(Redactor::default())), MessageSink::Kept);
    for number in 0..MAX_WARNINGS + 5 {
        let (server, text) = ("a".to_owned(), format!("number {number}"));
        reporter.event(ClientEvent::Warning { server, text });
    }
    let kept = reporter.kept();
    assert_eq!(kept.len(), MAX_KEPT);
    assert!(kept[MAX_KEPT - 1].ends_with(&format!("a: number {}", MAX_WARNINGS + 4)));
    assert_eq!(reporter.warnings().len(), MAX_WARNINGS);
}
