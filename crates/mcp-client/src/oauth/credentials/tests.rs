//! Tests of `credentials`.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::config::Endpoint;

#[tokio::test(start_paused = true)]
async fn a_sign_in_just_before_the_wait_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let mut endpoint = HttpEndpoint::new("http://127.0.0.1:9/mcp");
    endpoint.auth = Auth::OAuth(Box::default());
    let entry = ServerEntry::new("s", Endpoint::Http(Box::new(endpoint.clone())));
    let token_dir = Some(folder.path().to_owned());
    let host = Arc::new(Host { token_dir, ..Host::bare(BTreeMap::new()) });
    let credentials = Credentials::of(&entry, &endpoint, &host).unwrap().unwrap();
    assert!(credentials.current().is_none());
    let tokens = serde_json::from_value(json!({ "access_token": "t" })).unwrap();
    credentials.store.save_tokens(&tokens).unwrap();
    tokio::time::timeout(Duration::from_mins(1), credentials.changed()).await.unwrap();
    assert!(credentials.current().is_some());
}
