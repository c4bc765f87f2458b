//! The five keys of a message that routing looks at.

use std::fmt;

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Incoming, Payload, RpcError, own_id};

/// What stood under the keys of a message. The last of a doubled key counts.
#[derive(Default)]
pub(super) struct Envelope<'a> {
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

pub(super) fn parse(text: &[u8]) -> serde_json::Result<Envelope<'_>> {
    serde_json::from_slice(text)
}

impl Envelope<'_> {
    pub(super) fn classify(&self, whole: &Bytes) -> Incoming {
        let some = |value: &&RawValue| value.get() != "null";
        let id = self.id.filter(some);
        let error = self.error.filter(some);
        // Some peers write every key they know: what carries an outcome is an answer.
        let answers = id.is_some() && (self.result.as_ref().is_some_and(some) || error.is_some());
        if let Some(method) = self.method.filter(some).filter(|_| !answers) {
            let Ok(method) = serde_json::from_str::<String>(method.get()) else {
                return Incoming::Malformed { id: None, reason: "a method that is not a string" };
            };
            let params = self.params.map(|params| Payload::slice(whole, params));
            return match id {
                Some(id) => Incoming::Request { id: Payload::slice(whole, id), method, params },
                None => Incoming::Notification { method, params },
            };
        }
        let outcome = match (error, self.result) {
            (Some(error), _) => Some(Err(RpcError::lenient(error))),
            (None, Some(result)) => Some(Ok(Payload::slice(whole, result))),
            (None, None) => None,
        };
        match (id.map(own_id), outcome) {
            (Some(Some(id)), Some(outcome)) => Incoming::Answer { id, outcome },
            (None, Some(Err(error))) => Incoming::Stray { error },
            (Some(id), None) => {
                Incoming::Malformed { id, reason: "an answer with neither result nor error" }
            }
            (Some(None), Some(_)) => {
                Incoming::Malformed { id: None, reason: "an answer to an id that is not ours" }
            }
            (None, _) => Incoming::Malformed { id: None, reason: "neither a method nor an id" },
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Envelope<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Envelope<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut envelope = Envelope::default();
        while let Some(key) = map.next_key::<Key>()? {
            let place = match key {
                Key::Id => &mut envelope.id,
                Key::Method => &mut envelope.method,
                Key::Params => &mut envelope.params,
                Key::Result => &mut envelope.result,
                Key::Error => &mut envelope.error,
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *place = Some(map.next_value()?);
        }
        Ok(envelope)
    }
}

enum Key {
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E>(self, name: &str) -> Result<Key, E> {
                Ok(match name {
                    "id" => Key::Id,
                    "method" => Key::Method,
                    "params" => Key::Params,
                    "result" => Key::Result,
                    "error" => Key::Error,
                    _ => Key::Other,
                })
            }
        }
        deserializer.deserialize_identifier(Name)
    }
}
