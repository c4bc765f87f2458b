//! The address and key of the service: from the profile's `.env`, the environment, then
//! `config.yaml`.

use std::collections::BTreeMap;

use gateway::config::DEFAULT_LISTEN;
use settings::{KnownSecret, Located, section};

use crate::config::secrets::scope;
use crate::diagnostic::{Diagnostic, Result};
use crate::host::is_this_machine;
use crate::session::Session;

pub(crate) const BASE_URL: &str = "AGENT_BASE_URL";
pub(crate) const MCP_URL: &str = "AGENT_MCP_URL";
pub(crate) const API_KEY: &str = "AGENT_API_KEY";

#[derive(Debug, Clone)]
pub(crate) struct Sourced<T> {
    pub(crate) value: T,
    /// A phrase that follows "is".
    pub(crate) place: String,
}

impl Sourced<String> {
    pub(crate) fn wrong(&self, why: &str) -> Diagnostic {
        let message = format!("invalid service address `{}`: {why}", self.value);
        Diagnostic::configuration(message).hint(format!("check the address: {}", self.place))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) base_url: Sourced<String>,
    pub(crate) mcp_url: Sourced<String>,
    pub(crate) key: Option<Sourced<KnownSecret>>,
    /// The default model.
    pub(crate) model: Option<Sourced<String>>,
    missing_key: String,
}

section! {
    /// Top-level keys.
    pub(crate) struct RootFile {
        /// Default model.
        #[schemars(extend("x-optional" = true))]
        model: Option<Located>,
    }
}

section! {
    /// The member service that commands use.
    pub(crate) struct MemberFile {
        /// URL of the service. `AGENT_BASE_URL` in `.env` or in the environment overrides it.
        #[schemars(extend("x-optional" = true))]
        base_url: Option<Located>,
        /// URL of the tools of the service; by default `base_url` with `/mcp` instead of `/v1`.
        /// `AGENT_MCP_URL` overrides it.
        #[schemars(extend("x-optional" = true))]
        mcp_url: Option<Located>,
        /// API key, preferably as `${NAME}`. `AGENT_API_KEY` overrides it.
        #[schemars(extend("x-optional" = true))]
        api_key: Option<Located>,
    }
}

impl Settings {
    pub(crate) fn load(session: &Session) -> Result<Self> {
        let home = session.home()?;
        let scope = scope(session, &home)?;
        let document = session.config()?;
        let member: MemberFile = document.section("member")?;
        let RootFile { model } = document.root_keys()?;
        let find = |name: &str, written: Option<&Located>, key: &str| {
            let of = |from: &BTreeMap<String, String>, place: String| {
                let value = from.get(name).map(|value| value.trim());
                let value = value.filter(|value| !value.is_empty());
                value.map(|value| Sourced { value: value.to_owned(), place })
            };
            of(&scope.secrets, format!("{name} of {}", home.env_file().display()))
                .or_else(|| of(&scope.process, format!("{name} in the environment")))
                .or_else(|| {
                    let written = written?;
                    let place = format!("`{key}` at {}", document.line(written.position));
                    let value = scope.resolve(written.value.written()).0;
                    let value = value.trim();
                    (!value.is_empty()).then(|| Sourced { value: value.to_owned(), place })
                })
        };
        let base_url = find(BASE_URL, member.base_url.as_ref(), "member.base_url");
        let base_url = base_url.unwrap_or_else(|| Sourced {
            value: format!("http://{DEFAULT_LISTEN}/v1"),
            place: format!("the default; change it with {BASE_URL} or `member.base_url`"),
        });
        let base_url =
            Sourced { value: base_url.value.trim_end_matches('/').to_owned(), ..base_url };
        check(&base_url)?;
        let mcp_url = find(MCP_URL, member.mcp_url.as_ref(), "member.mcp_url");
        let mcp_url = mcp_url.unwrap_or_else(|| beside(&base_url));
        check(&mcp_url)?;
        let key = find(API_KEY, member.api_key.as_ref(), "member.api_key");
        let key = key.map(|Sourced { value, place }| Sourced {
            value: KnownSecret::new(API_KEY, value),
            place,
        });
        let model = model.map(|model| Sourced {
            value: model.value.written().trim().to_owned(),
            place: format!("`model` at {}", document.line(model.position)),
        });
        let missing_key = home.env_file().display().to_string();
        Ok(Self { base_url, mcp_url, key, model, missing_key })
    }

    /// A service without a key for public requests.
    pub(crate) fn open_to_all(base_url: Sourced<String>) -> Result<Self> {
        check(&base_url)?;
        let mcp_url = beside(&base_url);
        Ok(Self { base_url, mcp_url, key: None, model: None, missing_key: String::new() })
    }

    /// The key; fails if there is none.
    pub(crate) fn key(&self) -> Result<&KnownSecret> {
        self.key.as_ref().map(|key| &key.value).ok_or_else(|| {
            let start = "start a service on this machine and create a key with `agent up`";
            Diagnostic::sign_in(format!("no API key for {}", self.base_url.value))
                .hints(self.is_own_machine().then(|| start.to_owned()))
                .hint(self.how_to_set_key())
        })
    }

    pub(super) fn how_to_set_key(&self) -> String {
        format!("add `{API_KEY}=agk_…` to {}", self.missing_key)
    }

    pub(crate) fn is_own_machine(&self) -> bool {
        is_this_machine(&self.base_url.value)
    }
}

fn check(address: &Sourced<String>) -> Result {
    let uri = address.value.parse::<http::Uri>();
    let uri = uri.map_err(|error| address.wrong(&error.to_string()))?;
    let is_fine = matches!(uri.scheme_str(), Some("http" | "https"))
        && uri.host().is_some_and(|host| !host.is_empty())
        && uri.query().is_none();
    if is_fine { Ok(()) } else { Err(address.wrong("expected a URL like http://host/v1")) }
}

/// Tools of a service are next to its base address.
fn beside(base: &Sourced<String>) -> Sourced<String> {
    let root = base.value.strip_suffix("/v1").unwrap_or(&base.value);
    let place = format!("derived from {}", base.place);
    Sourced { value: format!("{root}/mcp"), place }
}
