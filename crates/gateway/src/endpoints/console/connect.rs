//! Settings to paste into other programs.

use askama::Template;
use axum::extract::State;
use pages::Frame;

use super::context::MemberContext;
use super::page::{self, PageResult};
use crate::endpoints::state::Shared;
use crate::upstreams::Upstreams;

#[derive(Template)]
#[template(path = "console/connect.html")]
struct ConnectPage {
    frame: Frame,
    base_url: String,
    clients: Vec<Client>,
}

struct Client {
    id: &'static str,
    name: &'static str,
    about: &'static str,
    texts: Vec<(&'static str, String)>,
}

/// A client, and the templates of its settings: `{url}` and `{model}` are filled in.
type Described =
    (&'static str, &'static str, &'static str, &'static [(&'static str, &'static str)]);

const CLIENTS: &[Described] = &[
    (
        "curl",
        "curl",
        "Any program that speaks the OpenAI API needs the address and a key.",
        &[(
            "Shell",
            "export AGENT_API_KEY=agk_…\n\
             curl {url}/v1/chat/completions \\\n  \
             -H \"Authorization: Bearer $AGENT_API_KEY\" \\\n  \
             -H 'Content-Type: application/json' \\\n  \
             -d '{\"model\": \"{model}\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'",
        )],
    ),
    (
        "claude-code",
        "Claude Code",
        "It speaks the Anthropic API at the same address.",
        &[(
            "Shell",
            "export ANTHROPIC_BASE_URL={url}\n\
             export ANTHROPIC_API_KEY=agk_…\n\
             claude --model {model}",
        )],
    ),
    (
        "codex",
        "Codex",
        "Put the key in the variable AGENT_API_KEY.",
        &[(
            "~/.codex/config.toml",
            "model = \"{model}\"\n\
             model_provider = \"agent\"\n\n\
             [model_providers.agent]\n\
             name = \"agent\"\n\
             base_url = \"{url}/v1\"\n\
             env_key = \"AGENT_API_KEY\"\n\
             wire_api = \"responses\"",
        )],
    ),
    (
        "cursor",
        "Cursor",
        "Open Settings, Models, and override the OpenAI base URL. Then add the model by its name.",
        &[("OpenAI base URL", "{url}/v1"), ("Model", "{model}")],
    ),
    (
        "open-webui",
        "Open WebUI",
        "Add a connection under Admin Panel, Settings, Connections, or start it with these variables.",
        &[(
            "Shell",
            "docker run -p 3000:8080 \\\n  \
             -e OPENAI_API_BASE_URL={url}/v1 \\\n  \
             -e OPENAI_API_KEY=agk_… \\\n  \
             ghcr.io/open-webui/open-webui:main",
        )],
    ),
    (
        "langchain",
        "LangChain",
        "Install langchain-openai.",
        &[(
            "Python",
            "import os\n\
             from langchain_openai import ChatOpenAI\n\n\
             model = ChatOpenAI(\n    \
             model=\"{model}\",\n    \
             base_url=\"{url}/v1\",\n    \
             api_key=os.environ[\"AGENT_API_KEY\"],\n)\n\
             print(model.invoke(\"Hello\").content)",
        )],
    ),
    (
        "mcp",
        "MCP clients",
        "Search, page reading, research, media and chat as tools, over streamable HTTP.",
        &[(
            "mcp.json",
            "{\n  \"mcpServers\": {\n    \"agent\": {\n      \"url\": \"{url}/mcp\",\n      \
             \"headers\": { \"Authorization\": \"Bearer agk_…\" }\n    }\n  }\n}",
        )],
    ),
    (
        "agent",
        "agent",
        "The command line of this service.",
        &[(
            "Shell",
            "export AGENT_BASE_URL={url}/v1\nexport AGENT_API_KEY=agk_…\nagent chat --model {model}",
        )],
    ),
];

pub(super) async fn show(
    context: MemberContext,
    State(upstreams): Shared<Upstreams>,
) -> PageResult {
    let base_url = context.config.public_url.to_string().trim_end_matches('/').to_owned();
    let model = upstreams.default_chat_model(&context.caller, None);
    let model = model.map_or_else(|| "PROVIDER/MODEL".to_owned(), |model| model.id.to_string());
    let fill = |text: &str| text.replace("{url}", &base_url).replace("{model}", &model);
    let clients = CLIENTS.iter().map(|(id, name, about, texts)| {
        let texts = texts.iter().map(|(place, text)| (*place, fill(text))).collect();
        Client { id, name, about, texts }
    });
    let clients = clients.collect();
    page::show(&ConnectPage { frame: context.frame("Connect", "/connect"), base_url, clients })
}
