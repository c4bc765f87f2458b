//! The rounds of an answer that searches the web. When the model calls the search, the service
//! executes it, and the model continues with the results in the next round, at the same upstream.

use std::sync::Arc;

use api_dialects::{
    ChatTranslator, Search, SearchError, SearchOutcome, Translated, WebSearchTool, anthropic,
    messages, responses,
};
use bytes::BytesMut;
use futures_util::future::{BoxFuture, join_all};
use ledger::TokenCounts;
use serde_json::{Map, Value, json};

use super::whole::{WholeAnswer, WholeReader};
use crate::failure::ApiResult;
use crate::provider::{CHAT_PATH, Failure, Provider, Sender, Upstream};
use crate::upstream_pool::RequestBody;

/// Maximum rounds of one answer; in the last one the model must answer.
const MAX_ROUNDS: usize = 8;
/// Maximum searches of one answer, unless the request allows fewer.
const MAX_SEARCHES: u64 = 10;

/// Executes a search for the member of a request.
pub(crate) type Searcher =
    Arc<dyn Fn(Search, WebSearchTool) -> BoxFuture<'static, SearchOutcome> + Send + Sync>;

/// The searcher of a translated request that offers a search; without one, the search is withdrawn.
pub(crate) fn searcher_for(
    searcher: Option<&Searcher>,
    translated: Translated,
) -> (Option<Searcher>, Translated) {
    match searcher.filter(|_| translated.tools.web_search().is_some()) {
        Some(searcher) => (Some(searcher.clone()), translated),
        None => (None, translated.without_web_search()),
    }
}

pub(crate) struct RoundRequest {
    pub(crate) path: &'static str,
    pub(crate) body: RequestBody,
    pub(crate) anthropic: Option<anthropic::Stream>,
    /// Reads a whole answer as a chat completion.
    pub(crate) reader: WholeReader,
}

impl RoundRequest {
    pub(crate) fn chat(chat: &Map<String, Value>) -> Self {
        let (body, reader) = (json!(chat).to_string().into(), WholeReader::Chat { model: None });
        Self { path: CHAT_PATH, body, anthropic: None, reader }
    }
}

type MakeRequest = Box<dyn Fn(&Map<String, Value>) -> ApiResult<RoundRequest> + Send + Sync>;

pub(crate) struct Rounds {
    searcher: Searcher,
    translated: Translated,
    make: MakeRequest,
    upstream: Option<(Arc<Provider>, Sender)>,
    count: usize,
    searches: u64,
}

impl Rounds {
    /// The rounds of a request that offers a search; `make` writes the request of a round.
    pub(crate) fn new(searcher: Searcher, translated: Translated, make: MakeRequest) -> Self {
        Self { searcher, translated, make, upstream: None, count: 1, searches: 0 }
    }

    pub(crate) fn set_upstream(&mut self, provider: Arc<Provider>, sender: Sender) {
        self.upstream = Some((provider, sender));
    }

    pub(crate) fn may_continue(&self) -> bool {
        self.count < MAX_ROUNDS
    }

    pub(super) async fn execute(
        &mut self,
        searches: &[Search],
        bridge: &mut Bridge,
        out: &mut BytesMut,
    ) {
        let tool = self.translated.tools.web_search().cloned().unwrap_or_default();
        let max = tool.max_uses.map_or(MAX_SEARCHES, |max| max.min(MAX_SEARCHES));
        let outcomes = searches.iter().map(|search| {
            self.searches += 1;
            let may = self.searches <= max;
            let allowed = may.then(|| (self.searcher)(search.clone(), tool.clone()));
            async move {
                match allowed {
                    Some(outcome) => outcome.await,
                    None => Err(SearchError::MaxUsesExceeded),
                }
            }
        });
        let outcomes: Vec<_> = outcomes.collect();
        for (search, outcome) in searches.iter().zip(join_all(outcomes).await) {
            bridge.translator().end_search(search, &outcome, out);
        }
    }

    pub(super) async fn start(
        &mut self,
        messages: Vec<Value>,
    ) -> Result<(Upstream, Option<anthropic::Stream>), Failure> {
        self.count += 1;
        self.translated.add_round(messages);
        if !self.may_continue() {
            self.translated.forbid_tools();
        }
        let request = (self.make)(&self.translated.chat).map_err(Failure::Unfit)?;
        let Some((provider, sender)) = &self.upstream else {
            return Err(Failure::Malformed("no request was sent yet"));
        };
        let upstream = provider.send(request.path, request.body, None, *sender).await?;
        Ok((upstream, request.anthropic))
    }
}

/// The translation of chat completions to the interface of the client.
pub(crate) enum Bridge {
    Responses(responses::Stream),
    Messages(messages::Stream),
}

impl Bridge {
    pub(super) fn translator(&mut self) -> &mut dyn ChatTranslator {
        match self {
            Self::Responses(stream) => stream,
            Self::Messages(stream) => stream,
        }
    }
}

/// Reads whole answers, chat completions or messages, as the answer of another interface.
pub(crate) struct BridgedReader {
    pub(crate) from: WholeReader,
    pub(crate) bridge: Bridge,
    /// Further rounds, if the answer may search the web.
    pub(crate) rounds: Option<Rounds>,
}

impl BridgedReader {
    pub(crate) async fn read(
        self,
        mut upstream: Upstream,
        max_bytes: usize,
    ) -> Result<WholeAnswer, Failure> {
        const ODD: Failure = Failure::Malformed("invalid response");
        let Self { from, mut bridge, mut rounds } = self;
        let mut events = BytesMut::new();
        let (mut tokens, mut has_content) = (TokenCounts::default(), false);
        loop {
            let round = from.read(upstream.read(max_bytes).await?)?;
            let completion: Value = serde_json::from_slice(&round.body).map_err(|_| ODD)?;
            bridge.translator().add_completion(&completion, &mut events).map_err(|_| ODD)?;
            tokens = sum(tokens, round.tokens);
            has_content |= round.has_content;
            let Some(rounds) = rounds.as_mut().filter(|rounds| rounds.may_continue()) else {
                break;
            };
            let searches = bridge.translator().begin_searches(&mut events);
            if searches.is_empty() {
                break;
            }
            rounds.execute(&searches, &mut bridge, &mut events).await;
            events.clear();
            let Some(messages) = bridge.translator().next_round() else { break };
            upstream = rounds.start(messages).await?.0;
        }
        bridge.translator().finish(&mut events);
        let (body, response) = match bridge {
            Bridge::Messages(stream) => (stream.message().to_string(), None),
            Bridge::Responses(stream) => {
                let response = stream.into_response().ok_or(ODD)?;
                (response.to_string(), Some(response))
            }
        };
        Ok(WholeAnswer { body: body.into(), tokens, has_content, response })
    }
}

pub(crate) fn sum(one: TokenCounts, other: TokenCounts) -> TokenCounts {
    let add = |one: Option<i64>, other: Option<i64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    };
    TokenCounts { input: add(one.input, other.input), output: add(one.output, other.output) }
}
