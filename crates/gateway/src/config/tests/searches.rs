//! Providers of results, and how searches are answered.

use super::*;

fn remote(config: &Config, place: usize) -> (SearchKind, &Provider) {
    match &config.search.providers[place] {
        SearchProvider::Remote { kind, upstream } => (*kind, upstream),
        SearchProvider::Index(index) => panic!("an index: {index:?}"),
    }
}

#[test]
fn search_providers_keep_their_order_and_have_no_models() {
    let config = clean(
        "providers:\n\
         \x20 docs: {kind: index, folder: files}\n\
         \x20 o: {kind: openai, api_key: \"${KEY}\", models: [m]}\n\
         \x20 sx: {kind: searxng, base_url: \"http://127.0.0.1:8888/\"}\n\
         \x20 br: {kind: brave, api_key: \"${KEY}\", health: {failures: 7}}\n\
         \x20 tv: {kind: Tavily, api_key: \"${KEY}\", timeout: 3, health: false}\n\
         search: {cache_seconds: 90}",
    );
    assert_eq!(config.providers.len(), 1);
    let names: Vec<&str> = config.search.providers.iter().map(SearchProvider::name).collect();
    assert_eq!(names, ["docs", "sx", "br", "tv"]);
    assert_eq!(config.search.cache, Some(Duration::from_secs(90)));

    let (kind, searxng) = remote(&config, 1);
    assert_eq!(
        (kind, searxng.base_url.to_string()),
        (SearchKind::Searxng, "http://127.0.0.1:8888/".into())
    );
    assert_eq!(searxng.health.as_ref().unwrap().path, "/healthz");
    assert_eq!(searxng.timeouts.first_byte, Duration::from_secs(15));

    let (kind, brave) = remote(&config, 2);
    assert_eq!(kind, SearchKind::Brave);
    assert_eq!(brave.base_url, "https://api.search.brave.com/res/v1");
    assert!(brave.api_key.is_none(), "it is not sent as a bearer credential");
    assert_eq!(brave.headers[0].0, "x-subscription-token");
    assert!(brave.headers[0].1 == "upstream-key-1" && brave.headers[0].1.is_sensitive());
    let health = brave.health.as_ref().unwrap();
    assert_eq!((health.path.as_str(), health.failures), ("", 7));

    let (kind, tavily) = remote(&config, 3);
    assert_eq!(kind, SearchKind::Tavily);
    assert_eq!(tavily.base_url, "https://api.tavily.com");
    assert_eq!(tavily.api_key.as_ref().unwrap().reveal(), "upstream-key-1");
    assert_eq!((tavily.timeouts.first_byte, &tavily.health), (Duration::from_secs(3), &None));
}

#[test]
fn an_index_is_stored_next_to_the_database_by_default() {
    let index = |text: &str| match &clean(text).search.providers[0] {
        SearchProvider::Index(index) => index.clone(),
        SearchProvider::Remote { .. } => panic!("not an index"),
    };
    let plain = index("providers:\n  docs: {kind: index, folder: files}");
    assert_eq!(plain.folder, Path::new("/etc/agent/files"));
    assert_eq!(plain.index_folder, Path::new("/etc/agent/search-index/docs"));
    assert_eq!((plain.rescan, plain.max_file_bytes), (Duration::from_mins(1), 16 * 1024 * 1024));
    assert_eq!(plain.base_url, None);
    let other =
        index("database: sqlite:/var/db/g.sqlite3\nproviders:\n  docs: {kind: index, folder: ~/d}");
    assert_eq!(other.folder, Path::new("/home/ada/d"));
    assert_eq!(other.index_folder, Path::new("/var/db/search-index/docs"));
    let server =
        index("database: \"postgres://a@b/c\"\nproviders:\n  docs: {kind: index, folder: /d}");
    assert_eq!(server.index_folder, Path::new("/etc/agent/search-index/docs"));
    let all = index(
        "providers:\n  docs: {kind: index, folder: /d, index_folder: /i, rescan: 0.5, \
         max_file_bytes: 7, base_url: \"https://a.b/c/\"}",
    );
    assert_eq!(
        (all.index_folder.as_path(), all.rescan),
        (Path::new("/i"), Duration::from_millis(500))
    );
    assert_eq!((all.max_file_bytes, all.base_url.unwrap().path()), (7, "/c"));
}

#[test]
fn search_provider_keys_are_required_or_rejected_by_kind() {
    refused(
        "providers:\n  sx: {kind: searxng}",
        &["error 2:3: providers.sx: has no `base_url` (set the URL of the server)"],
    );
    refused(
        "providers:\n  br: {kind: brave}",
        &["error 2:3: providers.br: has neither `base_url` nor `api_key` (the default URL needs \
             a key; add `api_key: ${NAME}`)"],
    );
    refused(
        "providers:\n  d: {kind: index}",
        &["error 2:3: providers.d: has no `folder` (set the folder of the files to index)"],
    );
    refused(
        "providers:\n  tv: {kind: tavily, api_key: \"${KEY}\", models: [m], rescan: 3}",
        &[
            "error 2:49: providers.tv.models: does not apply to providers of kind `tavily` (remove \
             it)",
            "error 2:62: providers.tv.rescan: does not apply to providers of kind `tavily` (remove \
             it)",
        ],
    );
    refused(
        "providers:\n  d: {kind: index, folder: f, api_key: \"${KEY}\"}",
        &["error 2:40: providers.d.api_key: does not apply to providers of kind `index` (remove \
           it)"],
    );
    refused(
        "providers:\n  o: {kind: openai, api_key: \"${KEY}\", models: [m], folder: f}",
        &["error 2:61: providers.o.folder: does not apply to providers of kind `openai` (remove \
           it)"],
    );
}

#[test]
fn search_results_are_cached_by_default() {
    assert_eq!(clean("").search.cache, Some(Duration::from_mins(10)));
    assert_eq!(clean("search: {cache_seconds: 0}").search.cache, None);
    refused(
        "search: {cache_second: 3}",
        &["error 1:10: search.cache_second: is not a known key (did you mean `cache_seconds`?)"],
    );
}
