//! The member service: its settings, its reachability, and the access of the key.

use std::time::Duration;

use http::HeaderMap;
use http::header::DATE;
use serde_json::Value;
use task_loop::member::{MemberError, MemberRequest, MemberResponse, credits};
use task_loop::nearest;
use task_loop::untrusted::printable;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use wire::account::Me;
use wire::capability::CapabilityList;
use wire::model::ModelList;

use crate::diagnostic::Result;
use crate::finding::{Finding, Severity};
use crate::member::Member;
use crate::member::settings::Settings;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::counted;

const PATIENCE: Duration = Duration::from_secs(10);
const MAX_BYTES: usize = 8 * 1024 * 1024;
const MAX_SKEW: Duration = Duration::from_mins(2);

pub(super) fn check(is_online: bool, session: &Session) -> Result<Vec<Finding>> {
    let settings = match Settings::load(session) {
        Ok(settings) => settings,
        Err(diagnostic) => return Ok(vec![Finding::from(diagnostic).of("service")]),
    };
    let key = match (settings.key(), &settings.key) {
        (Err(diagnostic), _) => Finding::from(diagnostic),
        (Ok(_), Some(key)) => Finding::good(format!("set by {}", key.place)),
        (Ok(_), None) => Finding::error("no key is set"),
    }
    .of("key");
    if !is_online {
        let what = format!("{} was not contacted (offline)", settings.base_url.value);
        return Ok(vec![Finding::good(what).of("service"), key]);
    }
    let member = match Member::of(settings, session) {
        Ok(member) => member,
        Err(diagnostic) => return Ok(vec![Finding::from(diagnostic).of("service"), key]),
    };
    let asked = ServiceChecks { member: &member, session };
    block_on(async { Ok(Box::pin(asked.all(key)).await) })
}

struct ServiceChecks<'a> {
    member: &'a Member,
    session: &'a Session,
}

impl ServiceChecks<'_> {
    async fn all(&self, key: Finding) -> Vec<Finding> {
        let has_key = key.severity != Severity::Error;
        let account = async {
            if !has_key {
                return None;
            }
            Some(tokio::join!(self.get("/me"), self.get("/models"), self.get("/capabilities")))
        };
        let (ready, health, account) =
            tokio::join!(self.beside("/readyz"), self.beside("/healthz"), account);
        let mut checks = vec![self.service(&ready, health.ok().as_ref()).of("service")];
        if matches!(ready, Err(MemberError::Unreachable { .. } | MemberError::Late { .. })) {
            checks.push(key);
            return checks;
        }
        if let Ok(answer) = &ready {
            checks.extend(self.clock(&answer.headers).map(|finding| finding.of("clock")));
        }
        let Some((me, models, capabilities)) = account else {
            checks.push(key);
            return checks;
        };
        match me.and_then(|answer| answer.json::<Me>()) {
            Err(trouble) => checks.push(self.failed(&trouble).of("key")),
            Ok(me) => {
                let place = self.member.settings.key.as_ref().map(|key| key.place.as_str());
                let place = place.unwrap_or_default();
                checks.push(Finding::good(format!("accepted; set by {place}")).of("key"));
                checks.push(balance(&me).of("balance"));
                checks.push(self.model(models).of("model"));
                let able = self.capabilities(capabilities).into_iter();
                checks.extend(able.map(|finding| finding.of("can do")));
            }
        }
        checks
    }

    async fn beside(&self, path: &str) -> Result<MemberResponse, MemberError> {
        let target = self.member.client.beside(path)?;
        in_time(self.member.client.ask_at(&target, MemberRequest::get("").at_most(MAX_BYTES))).await
    }

    async fn get(&self, path: &str) -> Result<MemberResponse, MemberError> {
        in_time(self.member.client.ask(MemberRequest::get(path).at_most(MAX_BYTES))).await
    }

    fn service(
        &self,
        ready: &Result<MemberResponse, MemberError>,
        health: Option<&MemberResponse>,
    ) -> Finding {
        let base = &self.member.settings.base_url.value;
        match ready {
            Ok(_) => {
                let version = health.and_then(version).map(|version| format!(", {version}"));
                Finding::good(format!("{base} is ready{}", version.unwrap_or_default()))
            }
            Err(trouble) if trouble.status() == Some(404) => {
                Finding::error(format!("{base} responds, but is not a member service"))
                    .hint(format!("check the address: {}", self.member.settings.base_url.place))
            }
            Err(trouble) => self.failed(trouble),
        }
    }

    fn failed(&self, trouble: &MemberError) -> Finding {
        self.member.diagnostic(trouble).into()
    }

    /// The clock difference between this machine and the service.
    fn clock(&self, headers: &HeaderMap) -> Option<Finding> {
        let date = headers.get(DATE)?.to_str().ok()?;
        let theirs = OffsetDateTime::parse(date, &Rfc2822).ok()?.unix_timestamp();
        let ours = self.session.clock.now().as_ms() / 1000;
        let seconds = ours.abs_diff(theirs);
        Some(if seconds <= MAX_SKEW.as_secs() {
            Finding::good("in sync with the service")
        } else {
            let word = if ours > theirs { "ahead of" } else { "behind" };
            Finding::warning(format!("{seconds} s {word} the service"))
                .hint("correct the clock; sign-ins and certificates depend on it")
        })
    }

    fn model(&self, answer: Result<MemberResponse, MemberError>) -> Finding {
        let models = match answer.and_then(|answer| answer.json::<ModelList>()) {
            Ok(models) => models.data,
            Err(trouble) => return self.failed(&trouble),
        };
        let offered = counted(models.len(), "model");
        match &self.member.settings.model {
            None if models.is_empty() => Finding::warning("the key cannot use any model")
                .hint("ask an operator to add providers to gateway.yaml"),
            None => Finding::good(format!("{offered} available")),
            Some(model) if models.iter().any(|offer| offer.id == model.value) => {
                Finding::good(format!("{} is one of {offered}", printable(&model.value)))
            }
            Some(model) => {
                let what = format!("`{}` is not one of {offered}", printable(&model.value));
                let place = format!("the model is set by {}", model.place);
                let check = Finding::error(what).hint(place);
                match nearest(&model.value, models.iter().map(|offer| offer.id.as_str())) {
                    Some(near) => check.hint(format!("did you mean `{}`?", printable(near))),
                    None => check,
                }
            }
        }
    }

    fn capabilities(&self, answer: Result<MemberResponse, MemberError>) -> Vec<Finding> {
        let list = match answer.and_then(|answer| answer.json::<CapabilityList>()) {
            Ok(list) => list.data,
            Err(trouble) => return vec![self.failed(&trouble)],
        };
        let usable = list.iter().filter(|found| found.usable).map(|found| printable(&found.id));
        let usable: Vec<String> = usable.collect();
        let mut checks = vec![if usable.is_empty() {
            Finding::error("the key cannot use any capability at the moment")
                .hint("ask an operator to run `agent gateway check`")
        } else {
            Finding::good(usable.join(", "))
        }];
        let has_chat = list.iter().any(|found| found.id == "chat" && !found.models.is_empty());
        if !has_chat && !list.is_empty() {
            let check =
                Finding::warning("no chat model is available, so `agent run` does not work");
            checks.push(check.hint("ask an operator to add a model provider to gateway.yaml"));
        }
        // Only a feature that is set up and fails is a problem.
        let broken = list.iter().filter(|found| !found.usable && !found.models.is_empty());
        checks.extend(broken.map(|found| {
            let reason = found.reason.as_deref().unwrap_or("no reason given");
            let what = format!("{} does not work: {}", printable(&found.id), printable(reason));
            Finding::warning(what).hint("ask an operator to run `agent gateway provider test`")
        }));
        checks
    }
}

fn balance(me: &Me) -> Finding {
    let available = format!("{} credits", credits(me.available_micros));
    if me.available_micros > 0 {
        return Finding::good(format!("{available} available"));
    }
    Finding::error(format!("{available} available"))
        .hint("ask an operator to add credit with `agent gateway member top-up`")
}

fn version(answer: &MemberResponse) -> Option<String> {
    let told: Value = serde_json::from_slice(&answer.body).ok()?;
    Some(format!("version {}", printable(told.get("version")?.as_str()?)))
}

async fn in_time(
    asked: impl Future<Output = Result<MemberResponse, MemberError>>,
) -> Result<MemberResponse, MemberError> {
    let late = |_| MemberError::Late { after: PATIENCE };
    tokio::time::timeout(PATIENCE, asked).await.map_err(late)?
}
