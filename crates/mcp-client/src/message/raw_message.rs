//! The five keys of a message that routing needs.

use std::fmt;

use bytes::Bytes;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Message, RawJson, RpcError, request_id};

/// The last of duplicate keys counts.
#[derive(Default)]
pub(super) struct RawMessage<'a> {
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

pub(super) fn parse(text: &[u8]) -> serde_json::Result<RawMessage<'_>> {
    serde_json::from_slice(text)
}

impl RawMessage<'_> {
    pub(super) fn classify(&self, whole: &Bytes) -> Message {
        let some = |value: &&RawValue| value.get() != "null";
        let id = self.id.filter(some);
        let error = self.error.filter(some);
        // Some peers write every key they know: a message with an outcome is a response.
        let answers = id.is_some() && (self.result.as_ref().is_some_and(some) || error.is_some());
        if let Some(method) = self.method.filter(some).filter(|_| !answers) {
            let Ok(method) = serde_json::from_str::<String>(method.get()) else {
                return Message::Malformed { id: None, reason: "`method` is not a string" };
            };
            let params = self.params.map(|params| RawJson::slice(whole, params));
            return match id {
                Some(id) => Message::Request { id: RawJson::slice(whole, id), method, params },
                None => Message::Notification { method, params },
            };
        }
        let outcome = match (error, self.result) {
            (Some(error), _) => Some(Err(RpcError::lenient(error.get()))),
            (None, Some(result)) => Some(Ok(RawJson::slice(whole, result))),
            (None, None) => None,
        };
        match (id.map(request_id), outcome) {
            (Some(Some(id)), Some(outcome)) => Message::Response { id, outcome },
            (None, Some(Err(error))) => Message::UnattributedError { error },
            (Some(id), None) => {
                Message::Malformed { id, reason: "response with neither result nor error" }
            }
            (Some(None), Some(_)) => {
                Message::Malformed { id: None, reason: "response to an unknown id" }
            }
            (None, _) => Message::Malformed { id: None, reason: "neither a method nor an id" },
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawMessage<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MessageVisitor)
    }
}

struct MessageVisitor;

impl<'de> Visitor<'de> for MessageVisitor {
    type Value = RawMessage<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut envelope = RawMessage::default();
        while let Some(key) = map.next_key::<MessageKey>()? {
            let place = match key {
                MessageKey::Id => &mut envelope.id,
                MessageKey::Method => &mut envelope.method,
                MessageKey::Params => &mut envelope.params,
                MessageKey::Result => &mut envelope.result,
                MessageKey::Error => &mut envelope.error,
                MessageKey::Other => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *place = Some(map.next_value()?);
        }
        Ok(envelope)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum MessageKey {
    Id,
    Method,
    Params,
    Result,
    Error,
    #[serde(other)]
    Other,
}
