//! Webhooks for the ends of jobs, signed as in Standard Webhooks.
//!
//! Pending webhooks are in the store until they are delivered or given up. Each is delivered at least
//! once, always with the same message id.

use std::sync::Arc;

use gateway_store::{ResearchJob, Webhook, WebhookOutcome};
use serde_json::json;
use tokio::time::sleep;
use web_reader::Target;

use super::{Research, job_id};
use crate::clock;
use crate::config::Secret;
use crate::failure::chain;
use crate::signed_message::{LEASE, POLL_INTERVAL, SignedMessage, TIMEOUT, after_failure};

pub(super) async fn run(research: Arc<Research>) {
    let billing = &research.billing;
    let lease = clock::micros(LEASE);
    while !billing.lifecycle.replaced.is_cancelled() {
        let claimed = billing.store.claim_webhook(lease).await;
        match claimed {
            Ok(Some((hook, job))) => {
                tokio::select! {
                    () = billing.lifecycle.stopping.cancelled() => return,
                    () = send(&research, &hook, &job) => continue,
                }
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(error = %chain(&error), "webhook not claimed"),
        }
        tokio::select! {
            () = billing.lifecycle.replaced.cancelled() => return,
            () = research.ended.notified() => {}
            () = sleep(POLL_INTERVAL) => {}
        }
    }
}

async fn send(research: &Research, hook: &Webhook, job: &ResearchJob) {
    let Some(secret) = &research.config.research.webhook_secret else { return };
    let outcome = match deliver(research, secret, hook, job).await {
        Ok(()) => WebhookOutcome::Delivered,
        Err(why) => {
            let (job, tries) = (job_id(job.id), hook.tries);
            tracing::warn!(job, tries, why, "webhook delivery failed");
            after_failure(research.config.research.webhook_retry, hook.tries)
        }
    };
    if let Err(error) = research.billing.store.finish_webhook(hook, outcome).await {
        // It is delivered again: at least once.
        tracing::warn!(error = %chain(&error), "webhook outcome not stored");
    }
}

async fn deliver(
    research: &Research,
    secret: &Secret,
    hook: &Webhook,
    job: &ResearchJob,
) -> Result<(), String> {
    let target = Target::parse(&hook.url).map_err(|fault| fault.to_string())?;
    let message = message(secret, job, clock::unix_seconds());
    let headers = message.headers();
    let sent = research.web.reader.deliver(&target, &headers, message.body.clone());
    match tokio::time::timeout(TIMEOUT, sent).await {
        Ok(Ok(status)) if (200..300).contains(&status) => Ok(()),
        Ok(Ok(status)) => Err(format!("the server returned status {status}")),
        Ok(Err(fault)) => Err(fault.to_string()),
        Err(_) => Err("the server did not respond in time".to_owned()),
    }
}

fn message(secret: &Secret, job: &ResearchJob, now: u64) -> SignedMessage {
    let name = job_id(job.id);
    let id = format!("msg_{}", name.trim_start_matches("job_"));
    let body = json!({
        "type": format!("research.job.{}", job.status.as_str()),
        "timestamp": clock::rfc3339(job.finished_at.unwrap_or(job.created_at)),
        "data": { "id": name, "status": job.status.as_str() },
    });
    SignedMessage::new(secret, id, body.to_string(), now)
}
