//! Figures for operators, in the text format of Prometheus.

mod figures;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ledger::Receipt;
use prometheus_client::encoding::{EncodeLabelSet, LabelSetEncoder};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use self::figures::{Count, Durations, Labelled, Level};
use crate::config::Operation;
use crate::provider::Health;

/// Everything that is counted.
#[derive(Debug)]
pub(crate) struct Meter {
    registry: Registry,
    requests: Labelled<RequestLabels, Count>,
    durations: Labelled<OperationLabels, Durations>,
    attempts: Labelled<AttemptLabels, Count>,
    first_bytes: Labelled<ProviderLabels, Durations>,
    ended: Labelled<RuleLabels, Count>,
    charged_micros: Labelled<ModelLabels, Count>,
    input_tokens: Labelled<ModelLabels, Count>,
    output_tokens: Labelled<ModelLabels, Count>,
    hold_seconds: Durations,
    settle_seconds: Durations,
    expired: Count,
    pub(crate) connections: Level,
    pub(crate) running: Level,
    pub(crate) streams: Level,
    usable: Family<ProviderLabels, Gauge>,
    key_refused: Family<ProviderLabels, Gauge>,
    spans_dropped: Gauge,
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

/// The model that answered, by its full id, or the alias that was asked for; with its provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ModelLabels(Option<Arc<str>>);

impl ModelLabels {
    /// Members cannot make up models, but an upstream whose models are discovered can.
    fn of(receipt: &Receipt, is_full: bool) -> Self {
        Self(receipt.model.clone().filter(|_| !is_full))
    }
}

impl EncodeLabelSet for ModelLabels {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        let model = self.0.as_deref().unwrap_or("other");
        let provider = model.split_once('/').map_or("", |(provider, _)| provider);
        [("model", model), ("provider", provider)].encode(encoder)
    }
}

/// A gauge that counts this one as long as it is there.
pub(crate) struct Open<'a>(&'a Level);

impl<'a> Open<'a> {
    pub(crate) fn new(level: &'a Level) -> Self {
        level.inc();
        Self(level)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The figures of one provider that every good request counts in.
#[derive(Debug)]
pub(crate) struct ProviderFigures {
    good: Count,
    first_byte: Durations,
}

impl ProviderFigures {
    /// It began to answer.
    pub(crate) fn answered(&self, took: Duration) {
        self.good.inc();
        self.first_byte.observe(took);
    }
}

/// The most models with figures of their own; the rest is counted as one.
const MAX_MODELS: usize = 2000;

/// The word for what went well.
const OK: &str = "ok";

/// From half a millisecond to ten minutes.
const REQUEST_BOUNDS: [f64; 16] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0,
    600.0,
];
/// From a tenth of a millisecond to five seconds.
const STORE_BOUNDS: [f64; 12] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0];

impl Meter {
    pub(crate) fn new() -> Self {
        let of_requests = || Durations::new(&REQUEST_BOUNDS);
        let mut meter = Self {
            registry: Registry::with_prefix("agent_gateway"),
            requests: Labelled::new(Count::default),
            durations: Labelled::new(of_requests),
            attempts: Labelled::new(Count::default),
            first_bytes: Labelled::new(of_requests),
            ended: Labelled::new(Count::default),
            charged_micros: Labelled::new(Count::default),
            input_tokens: Labelled::new(Count::default),
            output_tokens: Labelled::new(Count::default),
            hold_seconds: Durations::new(&STORE_BOUNDS),
            settle_seconds: Durations::new(&STORE_BOUNDS),
            expired: Count::default(),
            connections: Level::default(),
            running: Level::default(),
            streams: Level::default(),
            usable: Family::default(),
            key_refused: Family::default(),
            spans_dropped: Gauge::default(),
        };
        meter.register();
        meter
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("requests", "Requests answered", self.requests.clone());
        registry.register_with_unit(
            "request_duration",
            "Time from the head of a request to the head of its answer",
            Unit::Seconds,
            self.durations.clone(),
        );
        registry.register("upstream_attempts", "Requests sent to upstreams", self.attempts.clone());
        registry.register_with_unit(
            "upstream_first_byte",
            "Time until an upstream began to answer",
            Unit::Seconds,
            self.first_bytes.clone(),
        );
        registry.register("holds_ended", "Holds that ended, by rule", self.ended.clone());
        registry.register("charged_micros", "Micro-credits charged", self.charged_micros.clone());
        let (input, output) = (self.input_tokens.clone(), self.output_tokens.clone());
        registry.register("input_tokens", "Tokens of questions, as upstreams count", input);
        registry.register("output_tokens", "Tokens of answers, as upstreams count", output);
        registry.register_with_unit(
            "hold_duration",
            "Time until a hold was durable",
            Unit::Seconds,
            self.hold_seconds.clone(),
        );
        registry.register_with_unit(
            "settle_duration",
            "Time until a charge was durable",
            Unit::Seconds,
            self.settle_seconds.clone(),
        );
        registry.register("holds_expired", "Holds that the reaper ended", self.expired.clone());
        registry.register("connections", "Open connections", self.connections.clone());
        registry.register("requests_running", "Requests being answered", self.running.clone());
        registry.register("streams_open", "Streams being answered", self.streams.clone());
        registry.register("spans_dropped", "Spans that were not sent", self.spans_dropped.clone());
        registry.register(
            "provider_usable",
            "1 unless its probes or the last requests to it failed",
            self.usable.clone(),
        );
        registry.register(
            "provider_key_refused",
            "1 if it refuses the configured key",
            self.key_refused.clone(),
        );
    }

    /// Everything, as text.
    fn text(&self) -> String {
        let mut text = String::new();
        // Writing into memory cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }

    pub(crate) fn answered(&self, operation: &'static str, status: u16, took: Duration) {
        self.requests.with(RequestLabels { operation, status }, Count::inc);
        self.durations.with(OperationLabels { operation }, |durations| durations.observe(took));
    }

    /// The figures of a provider, looked up once.
    pub(crate) fn provider(&self, name: &str) -> ProviderFigures {
        let labels = ProviderLabels { provider: name.to_owned() };
        let attempts = AttemptLabels { provider: name.to_owned(), outcome: OK };
        ProviderFigures {
            good: self.attempts.get(attempts),
            first_byte: self.first_bytes.get(labels),
        }
    }

    /// An upstream failed.
    pub(crate) fn failed(&self, provider: &str, outcome: &'static str) {
        let labels = AttemptLabels { provider: provider.to_owned(), outcome };
        self.attempts.with(labels, Count::inc);
    }

    pub(crate) fn held(&self, took: Duration) {
        self.hold_seconds.observe(took);
    }

    pub(crate) fn settled(&self, took: Duration) {
        self.settle_seconds.observe(took);
    }

    pub(crate) fn ended(&self, receipt: &Receipt) {
        let labels =
            RuleLabels { operation: known(&receipt.operation), rule: receipt.rule.as_str() };
        self.ended.with(labels, Count::inc);
        let of_model = [
            (&self.charged_micros, Some(receipt.charged.get())),
            (&self.input_tokens, receipt.tokens.input),
            (&self.output_tokens, receipt.tokens.output),
        ];
        for (figures, value) in of_model {
            if let Some(value) = value.and_then(|value| u64::try_from(value).ok())
                && value > 0
            {
                let is_full = figures.len() >= MAX_MODELS;
                let labels = ModelLabels::of(receipt, is_full);
                figures.with(labels, |figure| figure.inc_by(value));
            }
        }
    }

    pub(crate) fn expired(&self, holds: u64) {
        self.expired.inc_by(holds);
    }

    /// Everything, with the spans that were not taken.
    pub(crate) fn text_with(&self, spans_dropped: Option<u64>) -> String {
        self.spans_dropped
            .set(spans_dropped.and_then(|count| i64::try_from(count).ok()).unwrap_or(0));
        self.text()
    }

    /// Takes over the state of a provider.
    pub(crate) fn health(&self, provider: &str, health: &Health) {
        let labels = ProviderLabels { provider: provider.to_owned() };
        if !health.awaits_probe() {
            self.usable.get_or_create(&labels).set(i64::from(health.is_good()));
        }
        self.key_refused.get_or_create(&labels).set(i64::from(health.is_key_refused()));
    }
}

/// An operation of the price list, as a word that lives as long as the program.
fn known(operation: &str) -> &'static str {
    Operation::ALL
        .iter()
        .map(|known| known.word())
        .find(|word| *word == operation)
        .unwrap_or("other")
}
