//! The clients that are measured, each connected to a server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_test_support::mcp::ServerCommand;
use mcp_client::Client;
use mcp_client::config::{Endpoint, HttpEndpoint, Protocol, ServerEntry, StdioEndpoint, Text};
use mcp_client::content::{ContentBlock, ToolOutcome};
use mcp_client::host::Host;
use mcp_client::session::{CallOptions, CallReply, ConnectStep, Session};
use mcp_client::supervisor::ServerState;
use mcp_client::tool::Tool;
use rmcp::model::{CallToolRequestParams, JsonObject, ProtocolVersion};
use rmcp::service::RunningService;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};

use crate::foreign::{Foreign, Language};
use crate::rounds::Work;

/// Where the server is.
#[derive(Debug)]
pub(crate) enum Place {
    Stdio(ServerCommand),
    Http(String),
}

/// How the client begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Stateless,
}

/// A client with its connection.
pub(crate) enum Contender {
    /// Our library, as a program uses it that has one server.
    Session {
        session: Session,
        tools: Vec<Arc<Tool>>,
        _owner: Client,
    },
    /// Our library as the agent uses it: by the registered name, through supervision.
    Client(Client),
    Rmcp(Rmcp),
    Foreign(Box<Foreign>),
}

pub(crate) type Rmcp = RunningService<RoleClient, ()>;

impl Contender {
    pub(crate) async fn session(place: &Place, era: Era) -> Self {
        let owner = Client::start([], host());
        let entry = entry("peer", place, era);
        let session =
            owner.connect_unsupervised(&entry, &|_: ConnectStep| {}).await.expect("a session");
        let tools = session.list_tools().await.expect("a list").tools;
        Self::Session { session, tools, _owner: owner }
    }

    pub(crate) async fn client(place: &Place, era: Era) -> Self {
        let client = Client::start([entry("peer", place, era)], host());
        let status = client.wait_until_server_settled("peer", Duration::from_secs(30)).await;
        assert_eq!(status.expect("a server").state, ServerState::Ready);
        Self::Client(client)
    }

    pub(crate) async fn rmcp(place: &Place, era: Era) -> Self {
        Self::Rmcp(rmcp(place, era).await)
    }

    pub(crate) async fn foreign(
        language: Language,
        place: &Place,
        era: Era,
    ) -> Result<Self, String> {
        Foreign::start(language, place, era).await.map(|found| Self::Foreign(Box::new(found)))
    }

    /// So many calls, one after another; the time of each.
    pub(crate) async fn round(&mut self, work: &Work, calls: usize) -> Vec<Duration> {
        if let Self::Foreign(foreign) = self {
            return foreign.round(work, calls).await;
        }
        let mut times = Vec::with_capacity(calls);
        for _ in 0..calls {
            let started = Instant::now();
            let text = self.call(work).await;
            times.push(started.elapsed());
            assert!(text == work.expected, "another answer than was expected");
        }
        times
    }

    async fn call(&self, work: &Work) -> String {
        match self {
            Self::Session { session, tools, .. } => {
                let tool = tools.iter().find(|tool| tool.name == work.tool).expect("a tool");
                let options = CallOptions::default();
                let reply = session.call_tool(tool, &work.arguments, &options).await;
                match reply.expect("a result") {
                    CallReply::Done(outcome) => only(outcome),
                    CallReply::Task(_) => String::new(),
                }
            }
            Self::Client(client) => {
                let name = format!("mcp__peer__{}", work.tool);
                let arguments = work.arguments.clone();
                only(client.call(&name, arguments, CallOptions::default()).await.expect("a result"))
            }
            Self::Rmcp(running) => {
                let arguments: JsonObject = work.arguments.as_object().cloned().unwrap_or_default();
                let params = CallToolRequestParams::new(work.tool).with_arguments(arguments);
                let result = running.call_tool(params).await.expect("a result");
                let block = result.content.into_iter().next().expect("a block");
                match block {
                    rmcp::model::ContentBlock::Text(text) => text.text,
                    _ => String::new(),
                }
            }
            Self::Foreign(_) => String::new(),
        }
    }
}

fn only(outcome: ToolOutcome) -> String {
    match outcome.blocks.into_iter().next() {
        Some(ContentBlock::Text(text)) => text,
        _ => String::new(),
    }
}

pub(crate) fn host() -> Host {
    Host::bare(std::env::vars().collect())
}

pub(crate) fn entry(name: &str, place: &Place, era: Era) -> ServerEntry {
    let endpoint = match place {
        Place::Stdio(launch) => {
            let mut endpoint = StdioEndpoint::new(launch.command.display().to_string());
            endpoint.args = launch.args.iter().map(Text::literal).collect();
            Endpoint::Stdio(endpoint)
        }
        Place::Http(url) => Endpoint::Http(Box::new(HttpEndpoint::new(url))),
    };
    let mut entry = ServerEntry::new(name, endpoint);
    entry.protocol = match era {
        Era::Legacy => Protocol::Legacy,
        Era::Stateless => Protocol::Stateless,
    };
    entry
}

/// The other Rust client. Its own HTTP client connects anew for every call; this one keeps its
/// connections, which is faster.
pub(crate) async fn rmcp(place: &Place, era: Era) -> Rmcp {
    let lifecycle = match era {
        Era::Legacy => ClientLifecycleMode::Initialize,
        Era::Stateless => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    };
    let running = match place {
        Place::Stdio(launch) => {
            let mut command = tokio::process::Command::new(&launch.command);
            command.args(&launch.args);
            let transport = TokioChildProcess::new(command).expect("a process");
            ().serve_with_lifecycle(transport, lifecycle).await
        }
        Place::Http(url) => {
            let client = reqwest::Client::builder().build().expect("an HTTP client");
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            let transport = StreamableHttpClientTransport::with_client(client, config);
            ().serve_with_lifecycle(transport, lifecycle).await
        }
    };
    running.expect("a session of the other client")
}
