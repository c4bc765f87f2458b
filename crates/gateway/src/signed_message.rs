//! Webhook messages, signed as in Standard Webhooks, and their retry schedule.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gateway_store::WebhookOutcome;
use ring::hmac;

use crate::clock;
use crate::config::Secret;

/// Maximum tries of a delivery.
const MAX_TRIES: u32 = 10;
pub(crate) const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout of one try, and the lease that excludes other senders meanwhile.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(15);
pub(crate) const LEASE: Duration = Duration::from_mins(1);
/// Maximum wait between two tries.
const MAX_WAIT: Duration = Duration::from_hours(6);
/// Prefix of a secret in the Standard Webhooks format.
const SECRET_PREFIX: &str = "whsec_";

pub(crate) struct SignedMessage {
    id: String,
    timestamp: String,
    signature: String,
    pub(crate) body: String,
}

impl SignedMessage {
    /// Signs a body. All deliveries of a message have the same id.
    pub(crate) fn new(secret: &Secret, id: String, body: String, now: u64) -> Self {
        let timestamp = now.to_string();
        let signed = format!("{id}.{timestamp}.{body}");
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key_of(secret));
        let signature = STANDARD.encode(hmac::sign(&key, signed.as_bytes()));
        Self { id, timestamp, signature: format!("v1,{signature}"), body }
    }

    pub(crate) fn headers(&self) -> [(&'static str, &str); 3] {
        [
            ("webhook-id", &self.id),
            ("webhook-timestamp", &self.timestamp),
            ("webhook-signature", &self.signature),
        ]
    }
}

/// The state of a delivery after a failed try.
pub(crate) fn after_failure(first: Duration, tries: u32) -> WebhookOutcome {
    if tries >= MAX_TRIES {
        return WebhookOutcome::GivenUp;
    }
    WebhookOutcome::Retry { after_micros: clock::micros(wait_after(first, tries)) }
}

/// The wait after a failed try grows by a factor of four.
fn wait_after(first: Duration, tries: u32) -> Duration {
    first.saturating_mul(4_u32.saturating_pow(tries.saturating_sub(1))).min(MAX_WAIT)
}

/// The bytes of a secret: decoded after `whsec_`, else the text itself.
fn key_of(secret: &Secret) -> Vec<u8> {
    let text = secret.reveal();
    let encoded = text.strip_prefix(SECRET_PREFIX);
    encoded
        .and_then(|encoded| STANDARD.decode(encoded).ok())
        .unwrap_or_else(|| text.as_bytes().to_vec())
}

#[cfg(test)]
mod tests;
