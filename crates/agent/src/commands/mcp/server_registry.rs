//! `agent mcp search`, and the client of the MCP server registry, with limits.

use std::time::Duration;

use form_urlencoded::{Serializer, byte_serialize};
use http::StatusCode;
use mcp_client::config::server_json::ListedServer;
use serde::Deserialize;
use serde_json::{Value, json};
use task_loop::member::{MemberClient, MemberError, MemberRequest};
use task_loop::untrusted::printable;

use crate::diagnostic::{Diagnostic, Result};
use crate::host::is_this_machine;
use crate::mcp::Servers;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::Table;
use crate::task_printer::shortened;

const OFFICIAL_URL: &str = "https://registry.modelcontextprotocol.io";
const MAX_RESPONSE_BYTES: usize = 4 * 1024 * 1024;
const MAX_SERVERS_PER_PAGE: usize = 100;
const MAX_PAGES_PER_SEARCH: usize = 10;
const MAX_DESCRIPTION_CHARS: usize = 80;
const TIMEOUT: Duration = Duration::from_secs(15);

/// Search the registry of MCP servers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Anybody can publish servers in the registry. Add one with `agent mcp add NAME@registry`, which \
shows what would run.

Examples:
  agent mcp search github
  agent mcp search weather --limit 5 --json")]
pub(crate) struct Args {
    /// Words in the names of the servers
    #[arg(required = true)]
    words: Vec<String>,
    /// Show at most this many servers
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let registry = ServerRegistry::find(session)?;
    let words = args.words.join(" ");
    let found = block_on(registry.search(&words, args.limit.into()))?;
    let json = found.iter().map(|listed| {
        json!({
            "name": listed.server.name, "version": listed.server.version,
            "description": listed.server.description, "kinds": listed.kinds(),
            "deprecated": listed.is_deprecated(),
        })
    });
    let json = json!({ "servers": json.collect::<Value>() });
    let rows = found.iter().map(|listed| {
        let about = shortened(&printable(&listed.server.description), MAX_DESCRIPTION_CHARS);
        let mark = if listed.is_deprecated() { "(deprecated) " } else { "" };
        let (name, version) = (listed.server.name.clone(), listed.server.version.clone());
        [name, version, listed.kinds().join(", "), format!("{mark}{about}")]
    });
    let none = format!("No server matches `{}`.", printable(&words));
    let table = Table::new(["name", "version", "kinds", "description"]).rows(rows);
    table.print(&session.output, &json, &none)
}

#[derive(Debug)]
pub(super) struct ServerRegistry {
    client: MemberClient,
}

#[derive(Debug, Deserialize)]
struct Page {
    servers: Vec<ListedServer>,
    #[serde(default)]
    metadata: PageMetadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PageMetadata {
    next_cursor: Option<String>,
}

impl ServerRegistry {
    /// The configured registry, else the official one.
    pub(super) fn find(session: &Session) -> Result<Self> {
        let configured = Servers::load(session)?.parsed.registry_url;
        let url = configured.as_ref().map_or(OFFICIAL_URL, |url| url.value());
        let is_here = url.starts_with("http://") && is_this_machine(url);
        let wrong =
            |why: &str| Diagnostic::configuration(format!("`mcp.registry_url` is invalid: {why}"));
        if !url.starts_with("https://") && !is_here {
            return Err(wrong("it must begin with https://"));
        }
        let client = MemberClient::new(url.trim_end_matches('/'), None, &session.environment.all);
        Ok(Self { client: client.map_err(|error| wrong(&error.to_string()))? })
    }

    /// The newest versions of the servers whose names contain the words, at most `limit`.
    pub(super) async fn search(&self, words: &str, limit: usize) -> Result<Vec<ListedServer>> {
        let (mut found, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES_PER_SEARCH {
            let page = (limit - found.len()).min(MAX_SERVERS_PER_PAGE).to_string();
            let mut query = Serializer::new(String::new());
            query.extend_pairs([("search", words), ("version", "latest"), ("limit", &page)]);
            query.extend_pairs(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let path = format!("/v0.1/servers?{}", query.finish());
            let Page { servers, metadata } =
                self.get(&path).await.map_err(|error| self.problem(&error))?;
            found.extend(servers.into_iter().filter(|listed| !listed.is_deleted()));
            found.truncate(limit);
            cursor = metadata.next_cursor.filter(|next| !next.is_empty());
            if cursor.is_none() || found.len() == limit {
                break;
            }
        }
        Ok(found)
    }

    /// One server; the newest version unless one is given.
    pub(super) async fn server(&self, name: &str, version: Option<&str>) -> Result<ListedServer> {
        let part = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let (name_part, version_part) = (part(name), part(version.unwrap_or("latest")));
        let found = self.get(&format!("/v0.1/servers/{name_part}/versions/{version_part}")).await;
        found.map_err(|error| match error.status() {
            Some(status) if status == StatusCode::NOT_FOUND.as_u16() => {
                let name = printable(name);
                let message = match version {
                    Some(version) => {
                        format!("the registry has no version {} of `{name}`", printable(version))
                    }
                    None => format!("the registry has no server `{name}`"),
                };
                Diagnostic::failed(message).hint("find servers with `agent mcp search WORDS`")
            }
            _ => self.problem(&error),
        })
    }

    async fn get<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<T, MemberError> {
        let ask = MemberRequest::get(path).at_most(MAX_RESPONSE_BYTES).within(TIMEOUT);
        self.client.ask(ask).await?.json()
    }

    fn problem(&self, error: &MemberError) -> Diagnostic {
        let message = format!("registry {}: {}", self.client.base_url, error.line());
        Diagnostic::peer(printable(&message))
            .hint("set another registry as `mcp.registry_url` in config.yaml")
    }
}
