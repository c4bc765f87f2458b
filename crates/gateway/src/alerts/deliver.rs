//! Sends alerts from the outbox.

use std::sync::Arc;

use gateway_store::{AlertDelivery, WebhookOutcome};
use tokio::time::sleep;

use super::channel::Channels;
use crate::clock;
use crate::failure::chain;
use crate::service::Service;
use crate::signed_message::{LEASE, POLL_INTERVAL, TIMEOUT, after_failure};

pub(crate) async fn run(service: Arc<Service>) {
    let Some(channels) = &service.channels else { return };
    let lifecycle = &service.lifecycle;
    let lease = clock::micros(LEASE);
    while !lifecycle.replaced.is_cancelled() {
        match service.billing.store.claim_alert(lease).await {
            Ok(Some(delivery)) => {
                tokio::select! {
                    () = lifecycle.stopping.cancelled() => return,
                    () = send(&service, channels, &delivery) => continue,
                }
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(error = %chain(&error), "alert not claimed"),
        }
        tokio::select! {
            () = lifecycle.replaced.cancelled() => return,
            () = sleep(POLL_INTERVAL) => {}
        }
    }
}

async fn send(service: &Service, channels: &Channels, delivery: &AlertDelivery) {
    let sent = tokio::time::timeout(TIMEOUT, channels.send(delivery)).await;
    let sent = sent.unwrap_or_else(|_| Err("the server did not respond in time".to_owned()));
    let (alert, tries) = (delivery.alert.id, delivery.tries);
    let channel = delivery.channel.as_deref();
    let (outcome, why) = match sent {
        Ok(()) => (WebhookOutcome::Delivered, String::new()),
        Err(why) => {
            let retry = service.config.alerts.as_ref().map_or(POLL_INTERVAL, |it| it.retry);
            (after_failure(retry, tries), why)
        }
    };
    if outcome == WebhookOutcome::Delivered {
        tracing::info!(alert, channel, tries, "alert delivered");
    } else {
        tracing::warn!(alert, channel, tries, why, "alert not delivered");
    }
    if let Err(error) = service.billing.store.finish_alert(delivery, outcome, &why).await {
        // It is delivered again: at least once.
        tracing::warn!(error = %chain(&error), alert, "result of a delivery not stored");
    }
}
