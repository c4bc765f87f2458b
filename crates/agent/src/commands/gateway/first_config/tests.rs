//! Tests of `first_config`.

use gateway::config::read;
use settings::Scope;

use super::super::local_servers::named;
use super::*;

/// The provider that answers where there is no other.
const OWN: usize = if cfg!(feature = "local-model") { 1 } else { 0 };

#[test]
fn generated_configuration_is_valid() {
    let server = named("ollama=http://127.0.0.1:11434/v1").unwrap();
    let found = DetectedServer { server, models: Vec::new() };
    for (found, can_speak, count) in
        [(vec![], false, OWN), (vec![found.clone()], false, 1), (vec![found], true, 2)]
    {
        let text = FirstConfig::local(&found, can_speak).render().unwrap();
        let reading = read(&text, &Scope::default(), Path::new("/x"));
        assert_eq!(reading.problems, [], "{text}");
        assert_eq!(reading.config.unwrap().providers.len(), count);
    }
}

#[test]
fn example_provider_is_valid_once_uncommented() {
    let text = FirstConfig::local(&[], false).render().unwrap().replace(&marked(), SNIPPET);
    let mut scope = Scope::default();
    scope.process.insert("OPENAI_API_KEY".to_owned(), "sk-x".to_owned());
    let reading = read(&text, &scope, Path::new("/x"));
    assert_eq!(reading.problems, [], "{text}");
    assert_eq!(reading.config.unwrap().providers[OWN].name, "openai");
}
