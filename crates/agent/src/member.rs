//! The member service of the profile: its settings, its client, and its errors for a person.

pub(crate) mod retry;
pub(crate) mod settings;

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use task_loop::member::{MemberClient, MemberError, credits};
use task_loop::untrusted::{escaped, printable};
use wire::error::{Code, ErrorDetail};

use self::settings::Settings;
use crate::diagnostic::{Diagnostic, Result};
use crate::session::Session;

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) client: Arc<MemberClient>,
    pub(crate) settings: Settings,
}

impl Member {
    /// The service of the profile; fails if no key is configured.
    pub(crate) fn find(session: &Session) -> Result<Self> {
        let settings = Settings::load(session)?;
        settings.key()?;
        Self::of(settings, session)
    }

    pub(crate) fn of(settings: Settings, session: &Session) -> Result<Self> {
        let key = settings.key.as_ref().map(|key| key.value.value());
        let base = &settings.base_url.value;
        let client = MemberClient::new(base, key, &session.environment.all)
            .map_err(|error| settings.base_url.wrong(&error.to_string()))?;
        Ok(Self { client: Arc::new(client), settings })
    }

    pub(crate) fn diagnostic(&self, error: &MemberError) -> Diagnostic {
        let diagnostic = diagnostic(error, &self.settings);
        // Only the service responds in this format.
        let may_be_the_proxy = match error {
            MemberError::Refused { detail, .. } => detail.kind.is_empty(),
            MemberError::Unreachable { .. } | MemberError::Nonsense { .. } => true,
            MemberError::Broken { .. } | MemberError::Late { .. } => false,
        };
        diagnostic.hints(self.client.proxy().filter(|_| may_be_the_proxy).map(|proxy| {
            format!(
                "requests go through the proxy {}: correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, \
                 or add the host to NO_PROXY",
                printable(&proxy)
            )
        }))
    }
}

fn diagnostic(error: &MemberError, settings: &Settings) -> Diagnostic {
    let base = &settings.base_url.value;
    match error {
        MemberError::Refused { status, detail, retry_after } => {
            refusal(*status, detail, *retry_after, settings)
        }
        MemberError::Unreachable { reason } => {
            let start = "start a service on this machine with `agent up`".to_owned();
            Diagnostic::peer(format!("no response from {base}"))
                .cause(reason)
                .hints(settings.is_own_machine().then_some(start))
                .hint(format!("check the address: {}", settings.base_url.place))
        }
        other => Diagnostic::peer(format!("{base}: {}", other.line())),
    }
}

fn refusal(
    status: StatusCode,
    detail: &ErrorDetail,
    retry_after: Option<Duration>,
    settings: &Settings,
) -> Diagnostic {
    // Error messages of services are bounded already.
    let message = escaped(&detail.message);
    let is = |code: Code| detail.code.as_deref() == Some(code.as_str());
    let diagnostic = match status.as_u16() {
        401 => Diagnostic::sign_in(format!("{} rejected the key", settings.base_url.value))
            .cause(message)
            .hints(settings.key.as_ref().map(|key| format!("check the key: {}", key.place)))
            .hint(settings.how_to_set_key())
            .hint("ask an operator to create a key with `agent gateway key create`"),
        402 if is(Code::BudgetReached) => {
            Diagnostic::failed(message).hint("see your budgets with `agent me`")
        }
        402 => {
            let missing = detail.needed_micros.zip(detail.available_micros);
            let missing = missing.map(|(needed, available)| {
                let (needed, available) = (credits(needed), credits(available));
                format!("this needs {needed} credits, but only {available} are available")
            });
            Diagnostic::failed(missing.unwrap_or(message))
                .hint("see your account with `agent me`")
                .hint("ask an operator to add credit with `agent gateway member top-up`")
        }
        403 if is(Code::ScopeMissing) || is(Code::ModelNotAllowed) => Diagnostic::failed(message)
            .hint("see the permissions of the key with `agent me`")
            .hint("ask an operator to change them with `agent gateway key change`"),
        429 => {
            let wait = retry_after
                .map_or_else(String::new, |wait| format!("; retry in {} s", wait.as_secs()));
            Diagnostic::peer(format!("{message}{wait}"))
        }
        code if code >= 500 => {
            let wait = retry_after.map(|wait| format!("retry in {} s", wait.as_secs().max(1)));
            Diagnostic::peer(message).hints(wait)
        }
        _ => Diagnostic::failed(message),
    };
    let request = detail.request_id.as_deref().filter(|_| status.as_u16() >= 500);
    diagnostic
        .hints(request.map(|id| format!("give the operator this request id: {}", printable(id))))
}
