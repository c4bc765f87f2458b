//! Keys of a server entry that name files of this machine. Entries of links and projects must not
//! have them: their content would go to a host that somebody else chose.

use serde_json::{Map, Value as Json};

/// Keys that name files of this machine, under `oauth`.
pub(crate) const SIGN_IN_FILES: [&str; 2] = ["assertion_file", "private_key"];
/// Keys that name files of this machine.
const FILES: [&str; 2] = ["client_cert", "client_key"];
/// Words of `ssl_verify` that are no path.
const SWITCHES: [&str; 6] = ["true", "false", "yes", "no", "on", "off"];

/// The keys of an entry that name files of this machine.
pub(crate) fn file_keys(entry: &Map<String, Json>) -> Vec<String> {
    let oauth = entry.get("oauth").and_then(Json::as_object);
    let signs = SIGN_IN_FILES.iter().filter(|key| oauth.is_some_and(|all| is_given(all, key)));
    let mut keys: Vec<String> = signs.map(|key| format!("oauth.{key}")).collect();
    keys.extend(FILES.iter().filter(|key| is_given(entry, key)).map(|&key| key.to_owned()));
    let verify = entry.get("ssl_verify").and_then(Json::as_str).map(str::trim);
    if verify.is_some_and(|text| !SWITCHES.contains(&text.to_ascii_lowercase().as_str())) {
        keys.push("ssl_verify".to_owned());
    }
    keys
}

fn is_given(entry: &Map<String, Json>, key: &str) -> bool {
    entry.get(key).is_some_and(|value| !value.is_null())
}
