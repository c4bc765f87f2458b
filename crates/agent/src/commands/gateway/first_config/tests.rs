//! Tests of `first_config`.

use gateway::config::read;
use settings::Scope;

use super::super::local_servers::named;
use super::*;

/// The provider that answers where there is no other.
const OWN: usize = if cfg!(feature = "local-model") { 1 } else { 0 };

#[test]
fn what_is_written_can_be_read() {
    let server = named("ollama=http://127.0.0.1:11434/v1").unwrap();
    let found = DetectedServer { server, models: Vec::new() };
    for (found, can_speak, count) in
        [(vec![], false, OWN), (vec![found.clone()], false, 1), (vec![found], true, 2)]
    {
        let text = text(&FirstConfig::local(&found, can_speak));
        let reading = read(&text, &Scope::default(), Path::new("/x"));
        assert_eq!(reading.problems, [], "{text}");
        assert_eq!(reading.config.unwrap().providers.len(), count);
    }
}

#[test]
fn the_provider_that_is_shown_can_be_used_when_its_mark_is_taken_away() {
    let text = text(&FirstConfig::local(&[], false)).replace(&marked(), SNIPPET);
    let mut scope = Scope::default();
    scope.process.insert("OPENAI_API_KEY".to_owned(), "sk-x".to_owned());
    let reading = read(&text, &scope, Path::new("/x"));
    assert_eq!(reading.problems, [], "{text}");
    assert_eq!(reading.config.unwrap().providers[OWN].name, "openai");
}
