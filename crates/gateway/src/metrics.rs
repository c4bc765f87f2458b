//! Metrics for operators, in the text format of OpenMetrics.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ledger::Receipt;
use prometheus_client::encoding::{EncodeLabelSet, LabelSetEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};

use crate::config::Operation;

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

#[derive(Debug)]
pub(crate) struct Metrics {
    requests: Family<RequestLabels, Counter>,
    durations: Histograms<OperationLabels>,
    attempts: Family<AttemptLabels, Counter>,
    first_bytes: Histograms<ProviderLabels>,
    ended: Family<RuleLabels, Counter>,
    charged_micros: ModelCounters,
    input_tokens: ModelCounters,
    output_tokens: ModelCounters,
    pub(crate) hold_seconds: Histogram,
    pub(crate) settle_seconds: Histogram,
    pub(crate) expired: Counter,
    pub(crate) connections: Gauge,
    pub(crate) running: Gauge,
    pub(crate) streams: Gauge,
    usable: Family<ProviderLabels, Gauge>,
    key_refused: Family<ProviderLabels, Gauge>,
    spans_dropped: Gauge,
    registry: Registry,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    operation: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabels {
    operation: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttemptLabels {
    provider: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ProviderLabels {
    provider: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RuleLabels {
    operation: &'static str,
    rule: &'static str,
}

/// The full id of the model that answered, or the requested alias; with its provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ModelLabels(Option<Arc<str>>);

/// Counters by model, with a bounded number of series: a provider with discovery can list any number
/// of models.
#[derive(Debug)]
struct ModelCounters {
    family: Family<ModelLabels, Counter>,
    series: AtomicUsize,
}

impl ModelCounters {
    fn inc_by(&self, model: Option<&Arc<str>>, value: u64) {
        let labels = ModelLabels(model.cloned());
        if let Some(counter) = self.family.get(&labels) {
            counter.inc_by(value);
            return;
        }
        let is_full = self.series.fetch_add(1, Ordering::Relaxed) >= MAX_MODELS;
        let labels = if is_full { ModelLabels(None) } else { labels };
        self.family.get_or_create(&labels).inc_by(value);
    }
}

impl EncodeLabelSet for ModelLabels {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        let model = self.0.as_deref().unwrap_or("other");
        let provider = model.split_once('/').map_or("", |(provider, _)| provider);
        [("model", model), ("provider", provider)].encode(encoder)
    }
}

/// Counts one in a gauge until it is dropped.
pub(crate) struct GaugeGuard<'a>(&'a Gauge);

impl<'a> GaugeGuard<'a> {
    pub(crate) fn new(gauge: &'a Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The metrics of one provider that every successful request updates, without a look-up by label.
#[derive(Debug)]
pub(crate) struct ProviderMetrics {
    successes: Counter,
    first_byte: Histogram,
}

impl ProviderMetrics {
    pub(crate) fn answered(&self, first_byte: Duration) {
        self.successes.inc();
        self.first_byte.observe(first_byte.as_secs_f64());
    }
}

/// Maximum models with their own series; the rest share the series `other`.
const MAX_MODELS: usize = 2000;

const OK: &str = "ok";

/// From 0.5 ms to 10 min.
const REQUEST_BOUNDS: [f64; 16] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0,
    600.0,
];
/// From 0.1 ms to 5 s.
const STORE_BOUNDS: [f64; 12] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0];

impl Metrics {
    pub(crate) fn new() -> Self {
        let of_requests: fn() -> Histogram = || Histogram::new(REQUEST_BOUNDS);
        let of_store = || Histogram::new(STORE_BOUNDS);
        let mut registry = Registry::with_prefix("agent_gateway");
        let all = &mut registry;
        Self {
            requests: added(all, "requests", "Requests answered"),
            durations: timed(
                all,
                "request_duration",
                "Time from the request head to the response head",
                Family::new_with_constructor(of_requests),
            ),
            attempts: added(all, "upstream_attempts", "Requests sent to upstreams"),
            first_bytes: timed(
                all,
                "upstream_first_byte",
                "Time to the first byte of an upstream response",
                Family::new_with_constructor(of_requests),
            ),
            ended: added(all, "holds_ended", "Ended holds by charge rule"),
            charged_micros: by_model(all, "charged_micros", "Micro-credits charged"),
            input_tokens: by_model(all, "input_tokens", "Prompt tokens, as reported by upstreams"),
            output_tokens: by_model(
                all,
                "output_tokens",
                "Completion tokens, as reported by upstreams",
            ),
            hold_seconds: timed(all, "hold_duration", "Time to store a hold", of_store()),
            settle_seconds: timed(all, "settle_duration", "Time to store a charge", of_store()),
            expired: added(all, "holds_expired", "Expired holds that were released"),
            connections: added(all, "connections", "Open connections"),
            running: added(all, "requests_running", "Requests in progress"),
            streams: added(all, "streams_open", "Open streams"),
            spans_dropped: added(all, "spans_dropped", "Spans that were not exported"),
            usable: added(
                all,
                "provider_usable",
                "0 if the probes of the provider or its last requests failed, otherwise 1",
            ),
            key_refused: added(
                all,
                "provider_key_refused",
                "1 if the provider rejects the configured API key",
            ),
            registry,
        }
    }

    pub(crate) fn answered(&self, operation: &'static str, status: u16, took: Duration) {
        self.requests.get_or_create(&RequestLabels { operation, status }).inc();
        self.durations.get_or_create(&OperationLabels { operation }).observe(took.as_secs_f64());
    }

    pub(crate) fn provider(&self, name: &str) -> ProviderMetrics {
        let labels = ProviderLabels { provider: name.to_owned() };
        let attempts = AttemptLabels { provider: name.to_owned(), outcome: OK };
        ProviderMetrics {
            successes: self.attempts.get_or_create_owned(&attempts),
            first_byte: self.first_bytes.get_or_create_owned(&labels),
        }
    }

    pub(crate) fn failed(&self, provider: &str, outcome: &'static str) {
        let labels = AttemptLabels { provider: provider.to_owned(), outcome };
        self.attempts.get_or_create(&labels).inc();
    }

    pub(crate) fn ended(&self, receipt: &Receipt) {
        let labels = RuleLabels {
            operation: operation_label(&receipt.operation),
            rule: receipt.rule.as_str(),
        };
        self.ended.get_or_create(&labels).inc();
        let by_model = [
            (&self.charged_micros, Some(receipt.charged.get())),
            (&self.input_tokens, receipt.tokens.input),
            (&self.output_tokens, receipt.tokens.output),
        ];
        for (counters, value) in by_model {
            if let Some(value) = value.and_then(|value| u64::try_from(value).ok())
                && value > 0
            {
                counters.inc_by(receipt.model.as_ref(), value);
            }
        }
    }

    /// Sets the gauges of a provider; whether it is usable is unknown until its first probe has ended.
    pub(crate) fn set_provider(&self, name: &str, is_usable: Option<bool>, is_key_refused: bool) {
        let labels = ProviderLabels { provider: name.to_owned() };
        if let Some(is_usable) = is_usable {
            self.usable.get_or_create(&labels).set(i64::from(is_usable));
        }
        self.key_refused.get_or_create(&labels).set(i64::from(is_key_refused));
    }

    /// Removes the gauges of a removed provider.
    pub(crate) fn forget_provider(&self, name: &str) {
        let labels = ProviderLabels { provider: name.to_owned() };
        self.usable.remove(&labels);
        self.key_refused.remove(&labels);
    }

    /// All metrics as text, with the number of spans that the tracer dropped.
    pub(crate) fn text(&self, spans_dropped: u64) -> String {
        self.spans_dropped.set(i64::try_from(spans_dropped).unwrap_or(i64::MAX));
        let mut text = String::new();
        // Writing into memory cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

fn added<M: Metric + Clone + Default>(all: &mut Registry, name: &str, about: &str) -> M {
    let metric = M::default();
    all.register(name, about, metric.clone());
    metric
}

fn by_model(all: &mut Registry, name: &str, about: &str) -> ModelCounters {
    ModelCounters { family: added(all, name, about), series: AtomicUsize::new(0) }
}

/// Registers a metric in seconds.
fn timed<M: Metric + Clone>(all: &mut Registry, name: &str, about: &str, metric: M) -> M {
    all.register_with_unit(name, about, Unit::Seconds, metric.clone());
    metric
}

fn operation_label(operation: &str) -> &'static str {
    Operation::all().map(Operation::as_str).find(|word| *word == operation).unwrap_or("other")
}
