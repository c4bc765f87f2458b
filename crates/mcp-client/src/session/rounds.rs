//! Requests that a stateless server answers by asking for input first.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Ask, Session, attend};
use crate::error::Error;
use crate::message::{Params, Payload, head};
use crate::protocol::Era;

/// How often one request may come back for more input.
pub(crate) const MAX_ROUNDS: u32 = 10;
/// How many inputs one round may ask for.
const MAX_INPUTS: usize = 16;

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(rename = "resultType", default)]
    kind: Option<Value>,
    #[serde(rename = "inputRequests", default, borrow)]
    requests: Option<BTreeMap<String, &'a RawValue>>,
    #[serde(rename = "requestState", default, borrow)]
    state: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct InputRequest {
    method: String,
    #[serde(default)]
    params: Value,
}

impl Session {
    /// Asks, answers what the server wants to know, and asks again, until there is a result.
    /// `first` makes the request; it is made anew for every round.
    pub(super) async fn ask_to_the_end<'a>(
        &self,
        first: impl Fn() -> Ask<'a>,
    ) -> Result<Payload, Error> {
        let mut answer = self.ask(first()).await?;
        if self.agreed().era == Era::Legacy {
            return Ok(answer);
        }
        for _ in 0..MAX_ROUNDS {
            let Some(more) = self.wanted(&answer).await? else { return Ok(answer) };
            let mut ask = first();
            ask.params = more.onto(ask.params);
            answer = self.ask(ask).await?;
        }
        match self.wanted(&answer).await? {
            None => Ok(answer),
            Some(_) => Err(Error::TooManyRounds { rounds: MAX_ROUNDS }),
        }
    }

    /// What the next round must carry; nothing if the answer is complete.
    async fn wanted(&self, answer: &Payload) -> Result<Option<Input>, Error> {
        if plainly_complete(answer.text()) {
            return Ok(None);
        }
        let malformed = |reason: String| Error::Malformed { reason };
        let parsed: Reply<'_> = serde_json::from_str(answer.text())
            .map_err(|error| malformed(format!("its request for input cannot be read: {error}")))?;
        match &parsed.kind {
            None => return Ok(None),
            Some(Value::String(kind)) if kind == "complete" => return Ok(None),
            Some(Value::String(kind)) if kind == "input_required" => {}
            Some(other) => {
                let shown = head(&other.to_string(), 100);
                return Err(malformed(format!("a result of the unknown type {shown}")));
            }
        }
        if parsed.requests.is_none() && parsed.state.is_none() {
            return Err(malformed("it wants input but says neither which nor why".to_owned()));
        }
        let responses = match parsed.requests {
            Some(requests) => Some(self.responses(requests).await?),
            None => None,
        };
        Ok(Some(Input { responses, state: parsed.state.map(|state| state.get().to_owned()) }))
    }

    async fn responses(
        &self,
        requests: BTreeMap<String, &RawValue>,
    ) -> Result<Map<String, Value>, Error> {
        if requests.len() > MAX_INPUTS {
            let reason =
                format!("it wants {} inputs at once, the most is {MAX_INPUTS}", requests.len());
            return Err(Error::Malformed { reason });
        }
        let mut responses = Map::new();
        for (key, request) in requests {
            let request: InputRequest = serde_json::from_str(request.get()).map_err(|error| {
                let reason = format!("its request for input `{}`: {error}", head(&key, 100));
                Error::Malformed { reason }
            })?;
            let answer = attend::fulfil(&self.inner, &request.method, request.params).await;
            responses.insert(key, answer.map_err(Error::Rpc)?);
        }
        Ok(responses)
    }
}

/// Most answers are complete, and some are long: whether that can be seen without taking one apart.
/// The key stands nowhere, or once and then with this word. Inside a string its quotes would be
/// escaped; below the top it would mean nothing, and then the key is absent at the top.
fn plainly_complete(answer: &str) -> bool {
    const KEY: &str = "\"resultType\"";
    let mut found = memchr::memmem::find_iter(answer.as_bytes(), KEY);
    match (found.next(), found.next()) {
        (None, _) => true,
        (Some(at), None) => answer[at + KEY.len()..].starts_with(":\"complete\""),
        (Some(_), Some(_)) => false,
    }
}

/// What the next round carries beyond the original request.
struct Input {
    responses: Option<Map<String, Value>>,
    /// Verbatim: it is none of our business.
    state: Option<String>,
}

impl Input {
    fn onto(&self, mut params: Params) -> Params {
        if let Some(responses) = &self.responses {
            params = params.with("inputResponses", responses);
        }
        if let Some(state) = &self.state {
            params = params.with_raw("requestState", state);
        }
        params
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_ask_for_input_is_plainly_complete() {
        for (answer, expected) in [
            (r#"{"content":[]}"#, true),
            (r#"{"resultType":"complete","content":[]}"#, true),
            (r#"{"content":[],"structuredContent":{"resultType":"complete"}}"#, true),
            (r#"{"content":["\"resultType\":\"x\""],"resultType":"complete"}"#, true),
            (r#"{"resultType":"input_required"}"#, false),
            (r#"{"resultType":"completely"}"#, false),
            (r#"{"resultType": "complete"}"#, false),
            (r#"{"_meta":{"resultType":"complete"},"resultType":"input_required"}"#, false),
        ] {
            assert_eq!(plainly_complete(answer), expected, "{answer}");
        }
    }
}
