//! A server on the official Rust SDK, for tests of the client: legacy and stateless clients at once.
//!
//! `rmcp_server stdio`, or `rmcp_server http PORT [--json] [--nodelay]`, which says its address on
//! the first line of standard output (port 0 chooses a free one). `--json` answers with plain JSON
//! where it can and keeps no sessions; otherwise answers are event streams. Packets are not sent at
//! once unless `--nodelay` is given: that is how many servers run.
//!
//! Tools, in pages of three: `echo(text)`, `add(a, b)` with structured output, `sleep(ms)` with
//! progress every 50 ms, `blob(bytes)` for results of any size, `region(region, query)` whose first
//! argument travels in the header `Mcp-Param-Region` too, `ask` which asks for a name (by a result
//! `input_required` in the stateless era, by `elicitation/create` before it), `twice` which asks in
//! two rounds (stateless only), `grow` which adds `grown` and says that the list changed, `later(ms)`
//! and `later_ask` which run as tasks (stateless only; the second one asks for a name), `touch` which
//! changes the resource. One resource, `peer://note`, with subscriptions in the stateless era, and one
//! prompt, `greeting(name)`.

use std::borrow::Cow;
use std::error::Error;
use std::io::Write;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock,
    CreateTaskResult, ElicitRequest, ElicitRequestParams, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, GetTaskParams, GetTaskResult, Implementation, InputRequest,
    InputRequests, InputRequiredResult, JsonObject, ListPromptsResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptArgument,
    PromptMessage, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, Role, ServerCapabilities, ServerConfig,
    SubscriptionFilter, Tool, UpdateTaskParams, object,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::task_manager::{TaskExit, TaskManager, TaskOptions};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

const TOOLS_PER_PAGE: usize = 3;
const PROGRESS_EVERY: Duration = Duration::from_millis(50);

/// What `blob` gives at most.
const MAX_BLOB_BYTES: usize = 256 * 1024 * 1024;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["stdio"] => {
            let running = Peer::new().serve(rmcp::transport::stdio()).await?;
            running.waiting().await?;
        }
        ["http", port, ref flags @ ..] => serve_http(port.parse()?, flags).await?,
        _ => return Ok(ExitCode::from(2)),
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve_http(port: u16, flags: &[&str]) -> Result<(), Box<dyn Error>> {
    let json = flags.contains(&"--json");
    let nodelay = flags.contains(&"--nodelay");
    let peer = Peer::new();
    let service: StreamableHttpService<Peer, LocalSessionManager> = StreamableHttpService::new(
        move || Ok(peer.clone()),
        Arc::default(),
        StreamableHttpServerConfig::default()
            .with_legacy_session_mode(!json)
            .with_json_response(json),
    );
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let mut output = std::io::stdout();
    writeln!(output, "http://{}/mcp", listener.local_addr()?)?;
    output.flush()?;
    let listener = listener.tap_io(move |stream| {
        // A connection that is gone already shows it when it is read.
        let _ = stream.set_nodelay(nodelay);
    });
    axum::serve(listener, Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}

/// The server; its clones share the list of tools.
#[derive(Clone)]
struct Peer {
    /// Whether `grow` was called; watched by the subscriptions.
    grown: Arc<watch::Sender<bool>>,
    /// How often `touch` was called; watched likewise.
    touched: Arc<watch::Sender<u32>>,
    tasks: TaskManager,
}

impl Peer {
    fn new() -> Self {
        Peer { grown: Arc::default(), touched: Arc::default(), tasks: TaskManager::new() }
    }

    fn tools(&self) -> Vec<Tool> {
        let text = json!({"type": "string"});
        let number = json!({"type": "integer"});
        let mut tools = vec![
            tool("echo", "Says what it was told.", &json!({"text": text})),
            tool("add", "Adds two numbers.", &json!({"a": number, "b": number}))
                .with_raw_output_schema(Arc::new(schema(&json!({"sum": number})))),
            tool("sleep", "Sleeps and reports progress.", &json!({"ms": number})),
            tool("blob", "A text of so many bytes.", &json!({"bytes": number})),
            tool(
                "region",
                "Says which region was asked.",
                &json!({"region": {"type": "string", "x-mcp-header": "Region"}, "query": text}),
            ),
            tool("ask", "Asks for a name, then greets.", &json!({})),
            tool("twice", "Asks in two rounds.", &json!({})),
            tool("grow", "Adds the tool `grown`.", &json!({})),
            tool("later", "Sleeps as a task.", &json!({"ms": number})),
            tool("later_ask", "Asks for a name as a task, then greets.", &json!({})),
            tool("touch", "Changes the note.", &json!({})),
        ];
        if *self.grown.borrow() {
            tools.push(tool("grown", "Was not there at first.", &json!({})));
        }
        tools
    }

    /// Sleeps, or asks for a name, in the background.
    fn later(&self, ms: Option<u64>) -> CallToolResponse {
        let options = TaskOptions::new().with_poll_interval_ms(100);
        let task = self.tasks.spawn(options, move |task| {
            Box::pin(async move {
                task.set_status_message("half way");
                let Some(ms) = ms else {
                    let form = ElicitRequest::new(name_form("What is your name?")?);
                    let request = InputRequest::Elicitation(form);
                    return Ok(greet(&task.request_input("name", request).await?));
                };
                tokio::select! {
                    () = task.cancelled() => Err(TaskExit::Cancelled),
                    () = tokio::time::sleep(Duration::from_millis(ms)) => {
                        Ok(text(format!("slept {ms} ms")))
                    }
                }
            })
        });
        CallToolResponse::Task(CreateTaskResult::new(task))
    }

    async fn grow(&self, context: &RequestContext<RoleServer>) -> CallToolResult {
        self.grown.send_replace(true);
        if !is_stateless(context) {
            // A client that does not listen learns of it by the next list.
            let _ = context.peer.notify_tool_list_changed().await;
        }
        text("added grown")
    }
}

impl ServerHandler for Peer {
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&[
            ProtocolVersion::V_2026_07_28,
            ProtocolVersion::V_2025_11_25,
            ProtocolVersion::V_2025_06_18,
        ])
    }

    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("rmcp-peer", "1.0"))
            .with_instructions("Made for tests.")
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let first: usize = cursor.map_or(Ok(0), |cursor| cursor.parse()).map_err(invalid)?;
        let all = self.tools();
        let end = first + TOOLS_PER_PAGE;
        let page = all.iter().skip(first).take(TOOLS_PER_PAGE).cloned().collect();
        let mut result = ListToolsResult::with_all_items(page);
        result.next_cursor = (end < all.len()).then(|| end.to_string());
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.clone().unwrap_or_default();
        let result = match request.name.as_ref() {
            "echo" => text(string(&arguments, "text")?),
            "add" => {
                let sum = integer(&arguments, "a")? + integer(&arguments, "b")?;
                CallToolResult::structured(json!({"sum": sum}))
            }
            "sleep" => sleep(integer(&arguments, "ms")?, &context).await,
            "blob" => blob(integer(&arguments, "bytes")?)?,
            "region" => {
                let (region, query) = (string(&arguments, "region")?, string(&arguments, "query")?);
                text(format!("{query} in {region}"))
            }
            "ask" if is_stateless(&context) => return ask_by_result(&request),
            "ask" => ask_by_request(&context).await?,
            "twice" => return ask_twice(&request),
            "grow" => self.grow(&context).await,
            "later" => return Ok(self.later(Some(integer(&arguments, "ms")?))),
            "later_ask" => return Ok(self.later(None)),
            "touch" => {
                self.touched.send_modify(|times| *times += 1);
                text("touched")
            }
            "grown" if *self.grown.borrow() => text("grown"),
            unknown => return Err(invalid(format!("there is no tool `{unknown}`"))),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new("peer://note", "note")]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match request.uri.as_str() {
            "peer://note" => {
                let note = match *self.touched.borrow() {
                    0 => "a note".to_owned(),
                    times => format!("a note, touched {times} times"),
                };
                let contents = ResourceContents::text(note, "peer://note");
                Ok(ReadResourceResult::new(vec![contents]).into())
            }
            unknown => Err(ErrorData::resource_not_found(format!("no `{unknown}`"), None)),
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let name = PromptArgument::new("name").with_required(true);
        let prompt = Prompt::new("greeting", Some("A greeting."), Some(vec![name]));
        Ok(ListPromptsResult::with_all_items(vec![prompt]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = string(&request.arguments.unwrap_or_default(), "name")?;
        let message = PromptMessage::new_text(Role::User, format!("Greet {name}."));
        Ok(GetPromptResult::new(vec![message]).into())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.tasks.get_task(&request.task_id)?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let (mut grown, mut touched) = (self.grown.subscribe(), self.touched.subscribe());
        loop {
            // A change that this client did not subscribe to is not sent.
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                Ok(()) = grown.changed() => drop(context.sink().notify_tool_list_changed().await),
                Ok(()) = touched.changed() => {
                    drop(context.sink().notify_resource_updated("peer://note").await);
                }
            }
        }
    }
}

fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

async fn sleep(ms: u64, context: &RequestContext<RoleServer>) -> CallToolResult {
    let token = context.meta.get_progress_token();
    let until = tokio::time::Instant::now() + Duration::from_millis(ms);
    let mut step = 0_u32;
    while tokio::time::Instant::now() < until {
        if let Some(token) = &token {
            let progress = ProgressNotificationParam::new(token.clone(), f64::from(step));
            // Progress that nobody reads is no reason to stop.
            let _ = context.peer.notify_progress(progress).await;
        }
        step += 1;
        let pause = until.min(tokio::time::Instant::now() + PROGRESS_EVERY);
        tokio::select! {
            () = context.ct.cancelled() => return text("cancelled"),
            () = tokio::time::sleep_until(pause) => {}
        }
    }
    text(format!("slept {ms} ms"))
}

fn blob(bytes: u64) -> Result<CallToolResult, ErrorData> {
    let bytes = usize::try_from(bytes).map_err(invalid)?;
    if bytes > MAX_BLOB_BYTES {
        return Err(invalid(format!("at most {MAX_BLOB_BYTES} bytes")));
    }
    Ok(text("x".repeat(bytes)))
}

fn name_form(message: &str) -> Result<ElicitRequestParams, ErrorData> {
    let form = json!({
        "type": "object",
        "properties": {"name": {"type": "string", "default": "nobody"}},
        "required": ["name"]
    });
    let requested_schema = serde_json::from_value(form).map_err(invalid)?;
    Ok(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema,
    })
}

/// The legacy way: a request of the server, answered while the call waits.
async fn ask_by_request(context: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
    let answer = context
        .peer
        .create_elicitation(name_form("What is your name?")?)
        .await
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(greet(&serde_json::to_value(answer).map_err(invalid)?))
}

/// The stateless way: a result that asks, and the same call again with the answer.
fn ask_by_result(request: &CallToolRequestParams) -> Result<CallToolResponse, ErrorData> {
    match &request.request_state {
        None => input_required("What is your name?", "asked"),
        Some(state) if state == "asked" => Ok(greet(&answered(request)?).into()),
        Some(state) => Err(invalid(format!("the state `{state}` is not ours"))),
    }
}

fn ask_twice(request: &CallToolRequestParams) -> Result<CallToolResponse, ErrorData> {
    match request.request_state.as_deref() {
        None => input_required("What is your first name?", "one"),
        Some("one") => input_required("And the last?", "two"),
        Some("two") => Ok(greet(&answered(request)?).into()),
        Some(state) => Err(invalid(format!("the state `{state}` is not ours"))),
    }
}

fn input_required(message: &str, state: &str) -> Result<CallToolResponse, ErrorData> {
    let mut requests = InputRequests::new();
    let request = InputRequest::Elicitation(ElicitRequest::new(name_form(message)?));
    requests.insert("name".to_owned(), request);
    Ok(InputRequiredResult::new(Some(requests), Some(state.to_owned())).into())
}

fn answered(request: &CallToolRequestParams) -> Result<Value, ErrorData> {
    let responses = request.input_responses.as_ref();
    let answer = responses.and_then(|responses| responses.get("name")).cloned();
    let answer = answer.ok_or_else(|| invalid("the answer `name` is missing"))?;
    serde_json::to_value(answer).map_err(invalid)
}

fn greet(answer: &Value) -> CallToolResult {
    match answer["action"].as_str() {
        Some("accept") => {
            text(format!("hello {}", answer["content"]["name"].as_str().unwrap_or("?")))
        }
        action => text(format!("no name: {}", action.unwrap_or("no action"))),
    }
}

fn tool(name: &'static str, description: &'static str, properties: &Value) -> Tool {
    Tool::new(name, description, schema(properties))
}

fn schema(properties: &Value) -> JsonObject {
    let required: Vec<&String> =
        properties.as_object().into_iter().flat_map(|map| map.keys()).collect();
    object(json!({"type": "object", "properties": properties, "required": required}))
}

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text.into())])
}

fn string(arguments: &JsonObject, name: &str) -> Result<String, ErrorData> {
    let value = arguments.get(name).and_then(Value::as_str);
    value.map(str::to_owned).ok_or_else(|| invalid(format!("`{name}` must be a text")))
}

fn integer(arguments: &JsonObject, name: &str) -> Result<u64, ErrorData> {
    let value = arguments.get(name).and_then(Value::as_u64);
    value.ok_or_else(|| invalid(format!("`{name}` must be a number of at least 0")))
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err asks for")]
fn invalid(error: impl ToString) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}
