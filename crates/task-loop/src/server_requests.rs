//! Requests of servers during a task: for a model's answer, or a person's input. Each server
//! has a policy for both.

mod sampling;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_client::RpcError;
use mcp_client::config::ServerEntry;
use mcp_client::host::{BoxFuture, RequestHandler, ServerRequest};
use serde_json::{Value, json};

use crate::member::MemberClient;
use crate::metrics::TaskMetrics;
use crate::model::{ApiKind, Model};
use crate::person::{FormAnswer, FormRequest, Person};

const MINUTE: Duration = Duration::from_mins(1);
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone)]
pub struct ServerRequests {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    person: Option<Arc<dyn Person>>,
    /// The servers whose requests were approved on the command line.
    approved: BTreeSet<String>,
    models: SamplingModel,
    /// Set after the first request to the service.
    model: Mutex<Option<(Model, TaskMetrics)>>,
    /// The times of recent model requests, by server.
    asked: Mutex<BTreeMap<String, VecDeque<Instant>>>,
}

/// The source of the model that answers servers. That of the service is the configured or the
/// first one, selected when a server asks.
#[derive(Debug)]
pub enum SamplingModel {
    None,
    OfTask,
    OfService { member: Arc<MemberClient>, model: Option<String>, metrics: TaskMetrics },
}

impl ServerRequests {
    pub fn new(
        person: Option<Arc<dyn Person>>,
        approved: BTreeSet<String>,
        models: SamplingModel,
    ) -> Self {
        let (model, asked) = (Mutex::default(), Mutex::default());
        Self { inner: Arc::new(Inner { person, approved, models, model, asked }) }
    }

    /// Enables model requests, with the model of the task.
    pub fn with_model(&self, model: Model, counting: TaskMetrics) {
        let mut known = self.inner.model.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((model, counting));
    }
}

impl RequestHandler for ServerRequests {
    fn capabilities(&self, entry: &ServerEntry) -> Value {
        let mut able = json!({});
        if entry.sampling.enabled && !matches!(self.inner.models, SamplingModel::None) {
            let with_tools = entry.sampling.max_tool_rounds > 0;
            able["sampling"] = if with_tools { json!({"tools": {}}) } else { json!({}) };
        }
        if entry.elicitation.enabled && self.inner.person.is_some() {
            able["elicitation"] = json!({"form": {}});
        }
        able
    }

    fn answer(&self, request: ServerRequest) -> BoxFuture<Result<Value, RpcError>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            match request.method.as_str() {
                "sampling/createMessage" => inner.sample(&request).await,
                "elicitation/create" => Ok(inner.fill(&request).await),
                other => Err(RpcError::unsupported(other)),
            }
        })
    }
}

impl Inner {
    async fn fill(&self, request: &ServerRequest) -> Value {
        let (entry, params) = (&request.server, &request.params);
        let is_form = params["mode"].as_str().is_none_or(|mode| mode == "form");
        let message = params["message"].as_str().unwrap_or_default();
        let is_fit = is_form && message.len() <= MAX_MESSAGE_BYTES;
        let person = self.person.as_ref().filter(|_| entry.elicitation.enabled && is_fit);
        let Some(person) = person else { return json!({"action": "decline"}) };
        let form = FormRequest {
            server: entry.name.clone(),
            message: message.to_owned(),
            schema: params["requestedSchema"].clone(),
        };
        match tokio::time::timeout(entry.elicitation.timeout, person.fill(form)).await {
            Ok(FormAnswer::Accepted(content)) => json!({"action": "accept", "content": content}),
            Ok(FormAnswer::Declined) => json!({"action": "decline"}),
            Ok(FormAnswer::Cancelled) | Err(_) => json!({"action": "cancel"}),
        }
    }

    async fn model(&self) -> Result<(Model, TaskMetrics), String> {
        let known = || self.model.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = known().clone() {
            return Ok(model);
        }
        let SamplingModel::OfService { member, model, metrics } = &self.models else {
            return Err("no model available yet".to_owned());
        };
        let found = Model::find(Arc::clone(member), model.as_deref(), ApiKind::default()).await;
        let model = found.map_err(|error| error.to_string())?;
        Ok(known().insert((model, metrics.clone())).clone())
    }

    fn may_ask(&self, entry: &ServerEntry) -> bool {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let times = asked.entry(entry.name.clone()).or_default();
        let now = Instant::now();
        while times.front().is_some_and(|first| now.duration_since(*first) >= MINUTE) {
            times.pop_front();
        }
        let may = times.len() < entry.sampling.max_rpm as usize;
        if may {
            times.push_back(now);
        }
        may
    }
}
