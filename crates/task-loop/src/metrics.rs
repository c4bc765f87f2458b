//! Metrics of a task.

use std::time::Duration;

use usage_metrics::catalogue::{
    Attribution, CallRole, Entrypoint, ExecutionSurface, LatencyBucket, ModelCall,
    ModelCallOutcome, RetryBucket, TaskFinished, TaskStarted, ToolApproval, ToolCall, ToolCategory,
    ToolOutcome,
};
use usage_metrics::mapping::{bucket, locality, model, provider, route, task};
use usage_metrics::recorder::Recorder;

use crate::end::TaskEnd;
use crate::member::MemberError;
use crate::model::{Model, Reply};
use crate::person::ApprovalAnswer;
use crate::toolbox::CallOutcome;
use crate::usage::TaskUsage;

#[derive(Debug, Clone)]
pub struct TaskMetrics {
    pub recorder: Recorder,
    pub entrypoint: Entrypoint,
    pub surface: ExecutionSurface,
}

impl TaskMetrics {
    pub(crate) fn task_started(&self) {
        self.recorder.client_active();
        let (entrypoint, execution_surface) = (self.entrypoint, self.surface);
        self.recorder.count(&TaskStarted { entrypoint, execution_surface });
    }

    pub(crate) fn task_finished(&self, end: &TaskEnd, took: Duration, spent: &TaskUsage) {
        let ending = end.ending();
        self.recorder.count(&TaskFinished {
            duration_bucket: bucket::duration(took),
            end_reason: ending.end_reason,
            entrypoint: self.entrypoint,
            execution_surface: self.surface,
            model_call_count_bucket: bucket::count(spent.model_calls.into()),
            outcome: ending.outcome,
            retry_count_bucket: bucket::count(spent.retries.into()),
            termination: ending.termination,
            tool_call_count_bucket: bucket::count(spent.tool_calls.into()),
        });
    }

    pub(crate) fn model_called(&self, asked: &Model, answer: Result<&Reply, &MemberError>) {
        let answered = answer.ok().and_then(|reply| reply.model.as_deref());
        let outcome =
            if answer.is_ok() { ModelCallOutcome::Success } else { ModelCallOutcome::Failed };
        self.count_model(asked, answered, outcome);
    }

    pub(crate) fn model_cancelled(&self, asked: &Model) {
        self.count_model(asked, None, ModelCallOutcome::Cancelled);
    }

    fn count_model(&self, asked: &Model, answered: Option<&str>, outcome: ModelCallOutcome) {
        let provider_family = provider::family(asked.provider());
        let host = asked.host();
        self.recorder.count(&ModelCall {
            call_role: CallRole::Primary,
            locality: locality::of(host.as_deref(), provider_family),
            model_family: model::family(answered, Some(&asked.id)),
            outcome,
            provider_family,
        });
        let model = route::model(answered, Some(&asked.id));
        let provider = route::provider(asked.provider());
        self.recorder.count_route(&model, &provider);
    }

    pub(crate) fn tool_called(&self, outcome: &CallOutcome) {
        let answer = outcome.approval.map(ApprovalAnswer::counted);
        if let Some(outcome) = answer {
            self.recorder.count(&ToolApproval { attribution: Attribution::ToolCall, outcome });
        }
        self.recorder.count(&ToolCall {
            approval_outcome: task::call_approval(answer),
            latency_bucket: bucket::latency(outcome.took),
            outcome: outcome.how,
            retry_count_bucket: RetryBucket::Zero,
            tool_category: outcome.category,
        });
    }

    pub(crate) fn tool_cancelled(&self) {
        self.recorder.count(&ToolCall {
            approval_outcome: task::call_approval(None),
            latency_bucket: LatencyBucket::Unknown,
            outcome: ToolOutcome::Cancelled,
            retry_count_bucket: RetryBucket::Zero,
            tool_category: ToolCategory::Mcp,
        });
    }
}
