//! Tests of `asset`.

use super::*;

#[test]
fn assets_are_cached_forever_by_digest() {
    let set = AssetSet::new(&[]);
    let version = set.path().rsplit('/').next().unwrap().to_owned();
    let response = set.answer(&version, "pages.css", &HeaderMap::new()).unwrap();
    assert_eq!(response.headers()[CACHE_CONTROL], "public, max-age=31536000, immutable");
    let mut again = HeaderMap::new();
    again.insert(IF_NONE_MATCH, response.headers()[ETAG].clone());
    let response = set.answer(&version, "pages.css", &again).unwrap();
    assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
    let response = set.answer("0", "pages.css", &HeaderMap::new()).unwrap();
    assert_eq!(response.headers()[CACHE_CONTROL], "no-cache");
    assert!(set.answer(&version, "../Cargo.toml", &HeaderMap::new()).is_none());
    let bytes: usize = set.assets.iter().map(|asset| asset.text.len()).sum();
    assert!(bytes < 150_000);
}
