//! Where updates come from, and the key that they must be signed with.

use settings::{Located, section};
use task_loop::untrusted::printable;
use wire::download::{PUBLIC_KEY_BYTES, read_public_key};

use crate::diagnostic::Diagnostic;
use crate::member::settings::{Settings, Sourced};
use crate::session::Session;

/// What those who distribute the program built in.
const BUILT_IN_URL: Option<&str> = option_env!("AGENT_UPDATE_URL");
const BUILT_IN_KEY: Option<&str> = option_env!("AGENT_UPDATE_PUBLIC_KEY");

/// A public key.
pub(crate) type PublicKey = [u8; PUBLIC_KEY_BYTES];

/// What the command line says.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChannelArgs<'a> {
    pub(crate) url: Option<&'a str>,
    pub(crate) key: Option<&'a str>,
}

/// Where updates come from.
#[derive(Debug)]
pub(crate) struct Channel {
    /// The folder of the manifest.
    pub(crate) base: Sourced<String>,
    /// What it must be signed with.
    pub(crate) key: Option<Sourced<PublicKey>>,
    /// The file where a key can be set.
    config: String,
}

section! {
    /// Where updates of the program come from.
    pub(crate) struct UpdateFile {
        /// Address of the manifest or of its folder; the member service unless given.
        #[schemars(extend("x-optional" = true))]
        url: Option<Located>,
        /// The key that the manifest must be signed with, as `agent gateway downloads key --show`
        /// prints it.
        #[schemars(extend("x-optional" = true))]
        public_key: Option<Located>,
    }
}

impl Channel {
    /// The command line first, then the configuration, then what was built in.
    pub(crate) fn find(session: &Session, given: ChannelArgs<'_>) -> Result<Self, Diagnostic> {
        let path = session.home()?.config();
        let document = session.config()?;
        let section: UpdateFile = document.section("update")?;
        let first = |given: Option<(&str, &str)>,
                     written: Option<&Located>,
                     key: &str,
                     built_in: Option<&str>| {
            let set =
                |value: &str, place: String| Sourced { value: value.trim().to_owned(), place };
            let found = given.map(|(value, option)| set(value, option.to_owned()));
            let found = found.or_else(|| {
                let place = format!("`update.{key}` at {}", document.line(written?.position()));
                Some(set(written?.value.written(), place))
            });
            let found = found.or_else(|| Some(set(built_in?, "built into the program".to_owned())));
            found.filter(|found| !found.value.is_empty())
        };
        let url = given.url.map(|url| (url, "`--channel-url`"));
        let url = first(url, section.url.as_ref(), "url", BUILT_IN_URL);
        let base = if let Some(Sourced { value, place }) = url {
            let folder = value.strip_suffix("/manifest.json").unwrap_or(&value);
            Sourced { value: folder.trim_end_matches('/').to_owned(), place }
        } else {
            let base = Settings::load(session)?.base_url;
            Sourced { value: format!("{}/downloads", base.value), place: base.place }
        };
        let key = given.key.map(|key| (key, "`--public-key`"));
        let key = first(key, section.public_key.as_ref(), "public_key", BUILT_IN_KEY);
        let key = key.map(|key| read(&key)).transpose()?;
        Ok(Self { base, key, config: path.display().to_string() })
    }

    /// The key, without which nothing is believed.
    pub(crate) fn key(&self) -> Result<&Sourced<PublicKey>, Diagnostic> {
        self.key.as_ref().ok_or_else(|| {
            Diagnostic::configuration("no signing key for updates is configured")
                .hint("get the public key from the publisher, but not from the download server")
                .hint(format!("add it to {}: `update: {{public_key: …}}`", self.config))
        })
    }
}

fn read(key: &Sourced<String>) -> Result<Sourced<PublicKey>, Diagnostic> {
    let value = read_public_key(&key.value).ok_or_else(|| {
        let message = format!("invalid public key `{}`", printable(&key.value));
        Diagnostic::configuration(message)
            .hint(format!("check the key: {}", key.place))
            .hint("a key is 32 bytes in base64, as `agent gateway downloads key` prints it")
    })?;
    Ok(Sourced { value, place: key.place.clone() })
}
