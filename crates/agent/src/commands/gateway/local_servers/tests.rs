//! Tests of `local_servers`.

use super::*;

#[test]
fn a_server_argument_needs_a_name_and_an_address() {
    let server = named("gpu=http://gpu:8000/v1/").unwrap();
    assert_eq!((&*server.name, server.base_url.to_string()), ("gpu", "http://gpu:8000/v1".into()));
    for wrong in ["gpu", "=http://x/v1", "a/b=http://x/v1", "gpu=gpu:8000", "gpu=ftp://x/", "gpu="]
    {
        assert!(named(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_given_server_replaces_the_default_of_the_same_name() {
    let given = [named("ollama=http://127.0.0.1:9/v1").unwrap()];
    let names = |servers: Vec<Server>| -> Vec<String> {
        servers.into_iter().map(|server| server.name).collect()
    };
    assert_eq!(names(candidates(&given, false)), ["ollama", "llamacpp", "vllm", "lmstudio"]);
    assert_eq!(names(candidates(&given, true)), ["ollama"]);
}

#[test]
fn localhost_and_127_0_0_1_are_the_same_endpoint() {
    let of = |text: &'static str| host_and_port(&Uri::from_static(text));
    assert_eq!(of("http://localhost:11434/v1"), of("http://127.0.0.1:11434/v1"));
    assert_eq!(of("https://a.example/v1"), of("https://A.example:443"));
    assert_ne!(of("http://127.0.0.1:8000/v1"), of("http://127.0.0.1:8080/v1"));
}
