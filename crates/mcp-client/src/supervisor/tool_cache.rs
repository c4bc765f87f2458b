//! Cached tool definitions of lazy servers, which are registered without being started.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::config::{Endpoint, ServerEntry};
use crate::host::Host;
use crate::registry::ServerCatalogue;
use crate::tool::{HeaderMirroring, tools_page};
use crate::tool_name::hex;

const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// The cached tools, if the server is still the same.
pub(super) fn load(host: &Host, entry: &ServerEntry) -> Option<ServerCatalogue> {
    let path = path(host, entry)?;
    if fs::metadata(&path).ok()?.len() > MAX_FILE_BYTES {
        return None;
    }
    let kept: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    if kept["server"] != fingerprint(entry) {
        return None;
    }
    let page =
        tools_page(&json!({ "tools": kept["tools"] }).to_string(), HeaderMirroring::Ignore).ok()?;
    Some(ServerCatalogue {
        tools: page.items.into_iter().map(Arc::new).collect(),
        quarantined: page.quarantined,
        resources: kept["resources"] == true,
        prompts: kept["prompts"] == true,
        ..ServerCatalogue::default()
    })
}

/// Best effort: without the cache the server is started.
pub(super) fn save(host: &Host, entry: &ServerEntry, catalogue: &ServerCatalogue) {
    let Some(path) = path(host, entry) else { return };
    let tools: Vec<Value> = catalogue
        .tools
        .iter()
        .map(|tool| serde_json::from_str(tool.raw.get()).unwrap_or_default())
        .collect();
    let kept = json!({
        "server": fingerprint(entry),
        "resources": catalogue.resources,
        "prompts": catalogue.prompts,
        "tools": tools,
    });
    let Some(folder) = path.parent() else { return };
    let written = fs::create_dir_all(folder).and_then(|()| {
        let beside = path.with_extension(format!("{:08x}", fastrand::u32(..)));
        let mut options = fs::OpenOptions::new();
        options.create_new(true).write(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&beside)?;
        file.write_all(host.redactor.redact_known(&kept.to_string()).as_bytes())?;
        fs::rename(&beside, &path).inspect_err(|_| drop(fs::remove_file(&beside)))
    });
    drop(written);
}

fn path(host: &Host, entry: &ServerEntry) -> Option<PathBuf> {
    let folder = host.cache_dir.as_ref()?;
    // Names may contain any character; their hash is a valid file name.
    let digest = Sha256::digest(entry.name.as_bytes());
    Some(folder.join(format!("mcp-tools-{}.json", hex(&digest[..8]))))
}

/// Identifies the server by its configuration as written, without secrets.
fn fingerprint(entry: &ServerEntry) -> String {
    let shown = match &entry.endpoint {
        Endpoint::Stdio(stdio) => json!([
            stdio.command.shown(),
            stdio.args.iter().map(crate::config::Text::shown).collect::<Vec<_>>(),
            stdio.env.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            stdio.cwd.as_ref().map(crate::config::Text::shown),
        ]),
        Endpoint::Http(http) => json!([http.url.shown(), format!("{:?}", http.transport)]),
    };
    hex(&Sha256::digest(shown.to_string()))
}
