//! Download items: the files of a run by its manifest, or one artifact by its headers.

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use task_loop::member::{MemberRequest, number};
use task_loop::untrusted::printable;
use wire::download::is_name;
use wire::media::{Artifact, MediaRun};

use crate::diagnostic::{Diagnostic, Result};
use crate::download::digest::Digest;
use crate::file_name::extension;
use crate::member::Member;

const MAX_FILES: usize = 256;
const MAX_MANIFEST_BYTES: usize = 1024 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Id {
    Run(String),
    Artifact(String),
}

#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) id: String,
    /// The id of its run, if known.
    pub(super) run: Option<String>,
    /// The file name. Built from the person's input only, never from the service's.
    pub(super) name: String,
    pub(super) media_type: String,
    pub(super) bytes: u64,
    pub(super) sha256: Digest,
}

pub(super) fn read(text: &str) -> Result<Id> {
    match text.split_once('_') {
        Some(("run", rest)) if is_name(text) && !rest.is_empty() => Ok(Id::Run(text.to_owned())),
        Some(("art", rest)) if is_name(text) && !rest.is_empty() => {
            Ok(Id::Artifact(text.to_owned()))
        }
        _ => {
            let message = format!("`{}` is neither a run id nor an artifact id", printable(text));
            Err(Diagnostic::usage(message).hint("run ids start with run_, artifact ids with art_"))
        }
    }
}

pub(super) async fn find(member: &Member, id: &Id) -> Result<Vec<Item>> {
    match id {
        Id::Run(run) => of_run(member, run).await,
        Id::Artifact(artifact) => of_artifact(member, artifact).await.map(|item| vec![item]),
    }
}

async fn of_run(member: &Member, run: &str) -> Result<Vec<Item>> {
    let ask =
        MemberRequest::get(format!("/media/runs/{run}/manifest.json")).at_most(MAX_MANIFEST_BYTES);
    let manifest = async { member.client.ask(ask).await?.json::<MediaRun>() }.await;
    let manifest = manifest.map_err(|trouble| member.diagnostic(&trouble))?;
    let count = manifest.artifacts.len();
    if !(1..=MAX_FILES).contains(&count) {
        return Err(wrong(run, &format!("the manifest lists {count} files")));
    }
    let numbered = manifest.artifacts.into_iter().enumerate();
    let items = numbered.map(|(place, artifact)| {
        let name = if count == 1 { run.to_owned() } else { format!("{run}-{}", place + 1) };
        of_manifest(run, &name, artifact)
    });
    items.collect()
}

fn of_manifest(run: &str, name: &str, artifact: Artifact) -> Result<Item> {
    let Artifact { id, media_type, bytes, sha256, .. } = artifact;
    if !is_name(&id) {
        return Err(wrong(run, &format!("invalid file id `{}`", printable(&id))));
    }
    let Some(sha256) = Digest::parse(&sha256) else {
        return Err(wrong(run, &format!("invalid SHA-256 digest `{}`", printable(&sha256))));
    };
    let name = format!("{name}.{}", extension(&media_type));
    Ok(Item { id, run: Some(run.to_owned()), name, media_type, bytes, sha256 })
}

/// The item of one artifact, from its headers. Its `ETag` is its digest.
async fn of_artifact(member: &Member, id: &str) -> Result<Item> {
    let answer = member.client.ask(MemberRequest::head(format!("/media/artifacts/{id}"))).await;
    let answer = answer.map_err(|trouble| match trouble.status() {
        // A response without a body lacks the message.
        Some(404) => Diagnostic::failed(format!("artifact {id} not found; it may have expired"))
            .hint("create a new file with `agent media run`; list models with `agent media list`"),
        _ => member.diagnostic(&trouble),
    })?;
    let text = |name| answer.headers.get(name).and_then(|value| value.to_str().ok());
    let bytes = number(&answer.headers, &CONTENT_LENGTH).and_then(|bytes| bytes.try_into().ok());
    let sha256 = text(ETAG).and_then(|tag| Digest::parse(tag.trim_matches('"')));
    let (Some(bytes), Some(sha256)) = (bytes, sha256) else {
        return Err(wrong(id, "the service did not send its size and digest"));
    };
    let media_type = text(CONTENT_TYPE).unwrap_or("application/octet-stream").to_owned();
    let name = format!("{id}.{}", extension(&media_type));
    Ok(Item { id: id.to_owned(), run: None, name, media_type, bytes, sha256 })
}

fn wrong(id: &str, why: &str) -> Diagnostic {
    Diagnostic::peer(format!("cannot download {}", printable(id)))
        .cause(why.to_owned())
        .hint("nothing was written; report this to the operator of the service")
}

#[cfg(test)]
mod tests;
