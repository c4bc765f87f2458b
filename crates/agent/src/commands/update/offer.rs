//! The published release: the verified manifest, and the file for this machine.

use std::cmp::Ordering;
use std::env::consts::{ARCH, OS};

use http::StatusCode;
use semver::Version;
use task_loop::member::{MemberError, MemberRequest};
use task_loop::untrusted::printable;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use wire::download::{File, Manifest, Unfit};

use super::{Channel, PublicKey, own_version, parse_version};
use crate::diagnostic::{Diagnostic, Result};
use crate::download::DownloadRequest;
use crate::download::digest::Digest;
use crate::member::Member;
use crate::member::settings::{Settings, Sourced};
use crate::session::Session;

const MAX_MANIFEST_BYTES: usize = 1024 * 1024;
/// Extensions of archives and packages. Only an executable file can replace us.
const PACKED: &[&str] =
    &[".gz", ".tgz", ".xz", ".zst", ".bz2", ".zip", ".deb", ".rpm", ".pkg", ".dmg", ".msi"];
const BESIDE: &[&str] = &[".txt", ".sha256", ".sig", ".asc", ".json", ".pem"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Newer,
    Same,
    Older,
    Missing,
}

#[derive(Debug)]
pub(super) struct Offer {
    /// The publishing service, without a key.
    pub(super) member: Member,
    pub(super) manifest: Manifest,
    pub(super) version: Version,
    pub(super) file: Option<File>,
    pub(super) channel: String,
}

impl Offer {
    /// Reads the manifest and verifies its signature.
    pub(super) async fn find(
        channel: &Channel,
        key: &Sourced<PublicKey>,
        session: &Session,
    ) -> Result<Self> {
        let member = Member::of(Settings::open_to_all(channel.base.clone())?, session)?;
        let ask = MemberRequest::get("/manifest.json").at_most(MAX_MANIFEST_BYTES);
        let manifest = async { member.client.ask(ask).await?.json::<Manifest>() }.await;
        let manifest = manifest.map_err(|trouble| unread(&trouble, &member, channel))?;
        let base = &channel.base.value;
        manifest.verify(&key.value).map_err(|unfit| {
            let of = Diagnostic::peer(format!("the manifest from {base} failed verification"));
            let of = of.because(&unfit);
            match unfit {
                Unfit::Signature => of.hint(format!("check the key: {}", key.place)),
                Unfit::Field(_) => of,
            }
            .hint("nothing was downloaded; ask the publisher")
        })?;
        check_expiry(&manifest, base, session)?;
        let version = parse_version(&manifest.version).ok_or_else(|| {
            let version = printable(&manifest.version);
            Diagnostic::peer(format!("{base} publishes the invalid version `{version}`"))
        })?;
        let file = for_this_machine(&manifest.files)?.cloned();
        Ok(Self { member, manifest, version, file, channel: base.clone() })
    }

    pub(super) fn state(&self) -> State {
        match self.version.cmp(&own_version()) {
            _ if self.file.is_none() => State::Missing,
            Ordering::Greater => State::Newer,
            Ordering::Equal => State::Same,
            Ordering::Less => State::Older,
        }
    }

    /// The file to download, and its name. It is next to the manifest: addresses are not signed.
    pub(super) fn download_request(&self) -> Result<(DownloadRequest, &str)> {
        let missing = || Diagnostic::failed(format!("no file for {}", platform()));
        let File { name, bytes, sha256, .. } = self.file.as_ref().ok_or_else(missing)?;
        let target = self.member.client.address(&format!("/{}/{name}", self.manifest.version));
        let target = target.map_err(|trouble| self.member.diagnostic(&trouble))?;
        let sha256 = Digest::parse(sha256).ok_or_else(missing)?;
        Ok((DownloadRequest { target, bytes: *bytes, sha256 }, name))
    }
}

/// Fails unless the manifest has an expiry date in the future.
fn check_expiry(manifest: &Manifest, base: &str, session: &Session) -> Result {
    let hint = "nothing was downloaded; the publisher can sign it again with `agent gateway \
                downloads publish --version VERSION`";
    if manifest.expires_at.is_empty() {
        let message = format!("the manifest from {base} has no expiry, so it may be out of date");
        return Err(Diagnostic::peer(message).hint(hint));
    }
    let shown = printable(&manifest.expires_at);
    let Ok(expires) = OffsetDateTime::parse(&manifest.expires_at, &Rfc3339) else {
        let message = format!("the manifest from {base} has the invalid expiry `{shown}`");
        return Err(Diagnostic::peer(message).hint(hint));
    };
    if i128::from(session.clock.now().as_ms()) * 1_000_000 < expires.unix_timestamp_nanos() {
        return Ok(());
    }
    Err(Diagnostic::peer(format!("the manifest from {base} expired at {shown}"))
        .hint("check the clock of this machine")
        .hint(hint))
}

fn unread(trouble: &MemberError, member: &Member, channel: &Channel) -> Diagnostic {
    if trouble.status() == Some(StatusCode::NOT_FOUND.as_u16()) {
        let message = format!("nothing is published at {}", channel.base.value);
        return Diagnostic::failed(message)
            .hint(format!("check the address: {}", channel.base.place))
            .hint("ask an operator to publish with `agent gateway downloads publish`");
    }
    member.diagnostic(trouble)
}

pub(super) fn platform() -> String {
    format!("{OS}-{ARCH}")
}

fn for_this_machine(files: &[File]) -> Result<Option<&File>> {
    let platform = platform();
    let of = |platform: &str| -> Vec<&File> {
        files.iter().filter(|file| file.platform == platform && is_program(&file.name)).collect()
    };
    let mut found = of(&platform);
    if found.is_empty() {
        found = of(OS);
    }
    if found.len() > 1 {
        // Builds for several C libraries have the library in their names.
        let like = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
        found.retain(|file| file.name.contains(like));
        if found.len() != 1 {
            let message = format!("several files are published for {platform}");
            return Err(Diagnostic::peer(message)
                .hint("ask the publisher; only one file can replace this program"));
        }
    }
    Ok(found.first().copied())
}

fn is_program(name: &str) -> bool {
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    name.starts_with("agent") && !ends(PACKED) && !ends(BESIDE)
}

#[cfg(test)]
mod tests;
