//! Attached resources of a conversation: changed ones are attached to the next message.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use mcp_client::Error;
use mcp_client::content::ToolOutcome;
use task_loop::UserInput;
use task_loop::toolbox::Toolbox;

use super::{LIST_TIMEOUT, Library, MAX_TEXT_BYTES, append, rendered};

const MAX_WATCHED: usize = 8;
const UNWATCH_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WatchedResource {
    server: String,
    uri: String,
    /// The digest of the last attached content; `None` if a change is not attached yet.
    digest: Option<u64>,
}

impl Library {
    /// Reads a resource, after subscribing to its changes if the server reports them.
    pub(super) async fn read_watched(&self, server: &str, uri: &str) -> Result<ToolOutcome, Error> {
        let has_room = {
            let watched = self.watched();
            watched.len() < MAX_WATCHED || watched.iter().any(|one| one.is(server, uri))
        };
        let is_watched =
            has_room && matches!(self.client.watch_resource(server, uri).await, Ok(Some(_)));
        let read = self.client.resource(server, uri).await?;
        if is_watched {
            self.set_digest(server, uri, Some(digest(&read)));
        }
        Ok(read)
    }

    /// Appends the changed watched resources to a message, up to its size limit. Returns their
    /// names.
    pub(crate) async fn with_changes(
        &self,
        said: &mut UserInput,
        toolbox: &Toolbox,
    ) -> Vec<String> {
        let (mut names, mut room) = (Vec::new(), MAX_TEXT_BYTES);
        let watched = self.watched().clone();
        for WatchedResource { server, uri, digest: before } in watched {
            // An unavailable server is asked again with the next message.
            let asked = self.client.watch_resource(&server, &uri);
            let asked = tokio::time::timeout(LIST_TIMEOUT, asked).await;
            if !matches!(asked, Ok(Ok(Some(true)))) && before.is_some() {
                continue;
            }
            self.set_digest(&server, &uri, None);
            let read =
                tokio::time::timeout(LIST_TIMEOUT, self.client.resource(&server, &uri)).await;
            let Ok(Ok(read)) = read else { continue };
            let now = Some(digest(&read));
            if now != before {
                let content = rendered(&read, toolbox).await;
                if room == 0 {
                    continue;
                }
                room = room.saturating_sub(content.text.len());
                let what = format!("resource {uri} of the MCP server {server}, which changed");
                append(said, &what, content);
                names.push(format!("@{server}:{uri}"));
            }
            self.set_digest(&server, &uri, now);
        }
        names
    }

    pub(crate) async fn unwatch(&self) {
        let watched = std::mem::take(&mut *self.watched());
        let all = async {
            for WatchedResource { server, uri, .. } in watched {
                // A server that has stopped has ended it already.
                let _ = self.client.unwatch_resource(&server, &uri).await;
            }
        };
        let _ = tokio::time::timeout(UNWATCH_TIMEOUT, all).await;
    }

    fn set_digest(&self, server: &str, uri: &str, digest: Option<u64>) {
        let mut watched = self.watched();
        match watched.iter_mut().find(|one| one.is(server, uri)) {
            Some(one) => one.digest = digest,
            None => watched.push(WatchedResource {
                server: server.to_owned(),
                uri: uri.to_owned(),
                digest,
            }),
        }
    }

    fn watched(&self) -> MutexGuard<'_, Vec<WatchedResource>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchedResource {
    fn is(&self, server: &str, uri: &str) -> bool {
        self.server == server && self.uri == uri
    }
}

fn digest(read: &ToolOutcome) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{:?}", read.blocks).hash(&mut hasher);
    hasher.finish()
}
