//! Traces: spans of requests and of upstream calls, sent to a collector as OTLP/HTTP JSON.
//!
//! A span has a name, times and a few attributes; never a body, a key or an address. Spans wait in a
//! bounded queue; when the collector is slow or unavailable, they are dropped and counted. Requests
//! never wait for them.
//!
//! Written by hand: the opentelemetry SDK and its OTLP exporter would bring protobuf types and a
//! second HTTP client into the build, for two kinds of spans and one POST.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt, Limited};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::config;
use crate::problem::Problem;
use crate::upstream_pool::{BaseUrl, UpstreamPool};

/// The length of the queue, and of one batch.
const MAX_QUEUED: usize = 4096;
const MAX_BATCH: usize = 512;
const BATCH_INTERVAL: Duration = Duration::from_secs(1);
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_ANSWER_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpanContext {
    trace: u128,
    span: u64,
    parent: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanKind {
    Server,
    Client,
}

#[derive(Debug)]
pub(crate) struct Span {
    pub(crate) context: SpanContext,
    pub(crate) kind: SpanKind,
    pub(crate) name: &'static str,
    /// Microseconds since 1970.
    pub(crate) started: i64,
    pub(crate) ended: i64,
    pub(crate) failed: bool,
    pub(crate) attributes: Vec<(&'static str, Value)>,
}

/// Accepts spans and queues them for the exporter.
pub(crate) struct Tracer {
    sample: f64,
    queue: mpsc::Sender<Span>,
    dropped: AtomicU64,
}

pub(crate) struct Exporter {
    queue: mpsc::Receiver<Span>,
    pool: UpstreamPool,
    address: Uri,
    host: HeaderValue,
}

impl SpanContext {
    pub(crate) fn header(self) -> Option<HeaderValue> {
        HeaderValue::from_str(&format!("00-{:032x}-{:016x}-01", self.trace, self.span)).ok()
    }

    pub(crate) fn child(self) -> Self {
        Self { trace: self.trace, span: fastrand::u64(1..), parent: Some(self.span) }
    }
}

impl Tracer {
    pub(crate) fn new(configured: &config::Trace) -> Result<(Arc<Self>, Exporter), Problem> {
        let problem = |what: String| Problem::new(format!("`trace.otlp_endpoint` {what}"));
        let base = BaseUrl::new(&configured.otlp_endpoint);
        let (address, host) = base
            .and_then(|base| Some((base.join("/v1/traces")?, base.host()?)))
            .ok_or_else(|| problem("is not a valid URL".to_owned()))?;
        let pool = UpstreamPool::open(&[], SEND_TIMEOUT);
        let pool = pool.map_err(|error| problem(error.to_string()))?;
        let (sender, queue) = mpsc::channel(MAX_QUEUED);
        let tracer = Self { sample: configured.sample, queue: sender, dropped: AtomicU64::new(0) };
        Ok((Arc::new(tracer), Exporter { queue, pool, address, host }))
    }

    /// The span of a request, if it is traced: as the caller decided, else by sampling.
    pub(crate) fn begin(&self, headers: &HeaderMap) -> Option<SpanContext> {
        let span = fastrand::u64(1..);
        if let Some((trace, parent, sampled)) = headers.get("traceparent").and_then(parent) {
            return sampled.then_some(SpanContext { trace, span, parent: Some(parent) });
        }
        (fastrand::f64() < self.sample).then(|| SpanContext {
            trace: fastrand::u128(1..),
            span,
            parent: None,
        })
    }

    /// Queues a span, or drops it if the queue is full.
    pub(crate) fn record(&self, span: Span) {
        if self.queue.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Exporter {
    /// Sends spans until the service stops or no tracer is left, then the rest.
    pub(crate) async fn run(mut self, stopping: CancellationToken) {
        loop {
            let is_over = stopping.is_cancelled() || self.queue.is_closed();
            loop {
                let queued = std::iter::from_fn(|| self.queue.try_recv().ok());
                let spans: Vec<Span> = queued.take(MAX_BATCH).collect();
                if !spans.is_empty() {
                    self.send(&spans).await;
                }
                if spans.len() < MAX_BATCH {
                    break;
                }
            }
            if is_over {
                return;
            }
            tokio::select! {
                () = stopping.cancelled() => {}
                () = tokio::time::sleep(BATCH_INTERVAL) => {}
            }
        }
    }

    async fn send(&self, spans: &[Span]) {
        let mut request = Request::new(document(spans).to_string().into());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.address.clone();
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json);
        request.headers_mut().insert(HOST, self.host.clone());
        let sending = async {
            let answer = self.pool.request(request).await.map_err(drop)?;
            let is_taken = answer.status().is_success();
            // Read to the end, so that the connection can be reused.
            let _ = Limited::new(answer.into_body(), MAX_ANSWER_BYTES).collect().await;
            if is_taken { Ok(()) } else { Err(()) }
        };
        if !matches!(timeout(SEND_TIMEOUT, sending).await, Ok(Ok(()))) {
            tracing::warn!(spans = spans.len(), "spans rejected by the collector");
        }
    }
}

/// Trace, parent and sampling flag of a `traceparent`.
fn parent(value: &HeaderValue) -> Option<(u128, u64, bool)> {
    let text = value.to_str().ok()?;
    let mut parts = text.split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let sizes = (version.len(), trace.len(), span.len(), flags.len());
    if sizes != (2, 32, 16, 2) || version == "ff" {
        return None;
    }
    let trace = u128::from_str_radix(trace, 16).ok().filter(|trace| *trace != 0)?;
    let span = u64::from_str_radix(span, 16).ok().filter(|span| *span != 0)?;
    let flags = u8::from_str_radix(flags, 16).ok()?;
    Some((trace, span, flags & 1 == 1))
}

fn document(spans: &[Span]) -> Value {
    let spans: Vec<Value> = spans.iter().map(view).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": [attribute("service.name", &json!("agent-gateway"))]},
        "scopeSpans": [{
            "scope": {"name": "agent-gateway", "version": env!("CARGO_PKG_VERSION")},
            "spans": spans,
        }],
    }]})
}

fn view(span: &Span) -> Value {
    let context = span.context;
    let nanos = |micros: i64| (i128::from(micros) * 1000).to_string();
    let attributes: Vec<Value> =
        span.attributes.iter().map(|(name, value)| attribute(name, value)).collect();
    json!({
        "traceId": format!("{:032x}", context.trace),
        "spanId": format!("{:016x}", context.span),
        "parentSpanId": context.parent.map_or_else(String::new, |parent| format!("{parent:016x}")),
        "name": span.name,
        "kind": match span.kind { SpanKind::Server => 2, SpanKind::Client => 3 },
        "startTimeUnixNano": nanos(span.started),
        "endTimeUnixNano": nanos(span.ended),
        "attributes": attributes,
        "status": if span.failed { json!({"code": 2}) } else { json!({}) },
    })
}

fn attribute(name: &str, value: &Value) -> Value {
    let value = match value {
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::Bool(flag) => json!({"boolValue": flag}),
        other => json!({"stringValue": other.as_str().unwrap_or_default()}),
    };
    json!({"key": name, "value": value})
}

#[cfg(test)]
mod tests;
