//! One request to one target, as metrics, traces, logs and the health of its provider see it.

use std::sync::Arc;
use std::time::Instant;

use super::Upstreams;
use crate::billing::Progress;
use crate::catalogue::Target;
use crate::clock;
use crate::provider::{Failure, LastFailure};
use crate::request_log;
use crate::trace::{self, Span, SpanContext, SpanKind};

pub(crate) struct Attempt<'a> {
    upstreams: &'a Upstreams,
    target: &'a Target,
    begun: Instant,
    /// The span of the attempt and its start, if the request is traced.
    span: Option<(SpanContext, i64)>,
}

impl<'a> Attempt<'a> {
    pub(crate) fn start(
        upstreams: &'a Upstreams,
        target: &'a Target,
        parent: Option<SpanContext>,
    ) -> Self {
        let span = parent.map(|parent| (parent.child(), trace::now()));
        Self { upstreams, target, begun: Instant::now(), span }
    }

    pub(crate) fn span(&self) -> Option<SpanContext> {
        self.span.map(|(context, _)| context)
    }

    /// Records how it ended.
    pub(crate) fn end<T>(&self, result: &Result<T, Failure>, progress: &Progress) {
        let (provider, took) = (&self.target.provider, self.begun.elapsed());
        progress.tried(&self.target.id, result, took);
        let metrics = &self.upstreams.metrics;
        let outcome = result.as_ref().map_or_else(Failure::word, |_| "ok");
        match result {
            Ok(_) => provider.metrics(metrics).answered(took),
            Err(_) => metrics.failed(&provider.name, outcome),
        }
        if let (Some(tracer), Some((context, started))) = (&self.upstreams.tracer, self.span) {
            tracer.record(Span {
                context,
                kind: SpanKind::Client,
                name: "upstream",
                started,
                ended: trace::now(),
                failed: result.is_err(),
                attributes: vec![
                    ("gen_ai.request.model", self.target.name.as_str().into()),
                    ("agent.provider", (*provider.name).into()),
                    ("agent.outcome", outcome.into()),
                ],
            });
        }
        match result {
            Ok(_) => {
                provider.health.succeeded();
                request_log::note_upstream(&self.target.id, took);
            }
            // The upstream cannot take this request, which is not a failure of it.
            Err(Failure::Unfit(_)) => {}
            Err(failure) => self.failed(failure),
        }
    }

    fn failed(&self, failure: &Failure) {
        let provider = &self.target.provider;
        let (what, status, cause) = (failure.word(), failure.status(), failure.cause());
        let model = &*self.target.id;
        let status_text = status.map(|status| format!(", status {status}")).unwrap_or_default();
        let why = cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
        let message = format!("{model}: {what}{status_text}{why}");
        provider.last_failure.store(Some(Arc::new(LastFailure { at: clock::now(), message })));
        tracing::warn!(provider = %provider.name, model, what, status, cause, "provider failed");
        if failure.is_its_fault() && provider.health.failed() {
            tracing::error!(provider = %provider.name, "provider ejected");
        }
    }
}
