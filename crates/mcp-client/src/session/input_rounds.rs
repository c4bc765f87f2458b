//! Requests that a stateless server answers by asking for input first.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Request, Session, server_requests};
use crate::error::Error;
use crate::message::{Params, RawJson, truncated};
use crate::protocol::Era;

pub(crate) const MAX_ROUNDS: u32 = 10;
const MAX_INPUTS: usize = 16;

#[derive(Deserialize)]
struct InputRequired<'a> {
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
    /// Sends a request, answers the inputs that the server asks for, and repeats the request with
    /// them until it has a result.
    pub(super) async fn request_with_input(&self, first: Request<'_>) -> Result<RawJson, Error> {
        if self.handshake().era == Era::Legacy {
            return self.request(first).await;
        }
        let mut answer = self.request(first.clone()).await?;
        for round in 0.. {
            let next = self.with_inputs(first.params.clone(), &answer).await?;
            let Some(params) = next else { break };
            if round == MAX_ROUNDS {
                return Err(Error::TooManyRounds { rounds: MAX_ROUNDS });
            }
            answer = self.request(Request { params, ..first.clone() }).await?;
        }
        Ok(answer)
    }

    /// The parameters of the next round, with the inputs that the response asks for; `None` if
    /// the response is complete.
    async fn with_inputs(
        &self,
        mut params: Params,
        answer: &RawJson,
    ) -> Result<Option<Params>, Error> {
        if is_plainly_complete(answer.text()) {
            return Ok(None);
        }
        let parsed: InputRequired<'_> = serde_json::from_str(answer.text())
            .map_err(|error| Error::malformed(format!("invalid input request: {error}")))?;
        match &parsed.kind {
            None => return Ok(None),
            // A task is complete for now; requests that cannot become a task reject it.
            Some(Value::String(kind)) if kind == "complete" || kind == "task" => return Ok(None),
            Some(Value::String(kind)) if kind == "input_required" => {}
            Some(other) => {
                let shown = truncated(&other.to_string(), 100);
                return Err(Error::malformed(format!("unknown result type {shown}")));
            }
        }
        if parsed.requests.is_none() && parsed.state.is_none() {
            let reason = "input is required, but neither requests nor state are given";
            return Err(Error::malformed(reason));
        }
        if let Some(requests) = parsed.requests {
            params = params.with("inputResponses", &self.responses(requests).await?);
        }
        if let Some(state) = parsed.state {
            // It is opaque, and repeated verbatim.
            params = params.with_raw("requestState", state.get());
        }
        Ok(Some(params))
    }

    pub(super) async fn responses(
        &self,
        requests: BTreeMap<String, &RawValue>,
    ) -> Result<Map<String, Value>, Error> {
        if requests.len() > MAX_INPUTS {
            let reason =
                format!("{} inputs requested at once; the limit is {MAX_INPUTS}", requests.len());
            return Err(Error::malformed(reason));
        }
        let mut responses = Map::new();
        for (key, request) in requests {
            let request: InputRequest = serde_json::from_str(request.get()).map_err(|error| {
                let reason = format!("invalid input request `{}`: {error}", truncated(&key, 100));
                Error::malformed(reason)
            })?;
            let answer =
                server_requests::handle_request(&self.inner, &request.method, request.params).await;
            responses.insert(key, answer.map_err(Error::Rpc)?);
        }
        Ok(responses)
    }
}

/// Whether a response is complete, without parsing a long one: the key is absent, or occurs
/// once with this value. Inside a string its quotes would be escaped; below the top level it
/// has no meaning.
fn is_plainly_complete(answer: &str) -> bool {
    const KEY: &str = "\"resultType\"";
    let mut found = memchr::memmem::find_iter(answer.as_bytes(), KEY);
    match (found.next(), found.next()) {
        (None, _) => true,
        (Some(at), None) => answer[at + KEY.len()..].starts_with(":\"complete\""),
        (Some(_), Some(_)) => false,
    }
}

#[cfg(test)]
mod tests;
